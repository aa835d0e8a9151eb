#include "simulator/choose/response.hpp"

#include "rubato/arrival.hpp"
#include "rubato/simulate.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace rubato::simulator {
namespace {

using namespace std::chrono_literals;

struct played {
    std::vector<std::int64_t> by_response;
    std::vector<std::int64_t> simulated;
};

/// One algorithm, with the arrivals that it planned by or others.
class case_of {
public:
    case_of(const algorithm& a, std::int32_t ranks, std::int64_t chunk, const model& m)
        : model_(m), sizes_(layout::uniform(chunk)) {
        p_.what = a.what;
        p_.ranks = ranks;
        p_.root = rank(traits(a.what).rooted ? ranks / 3 : 0);
        p_.segments = a.segmented ? 5 : 1;
        p_.round_time = time_ns(3000);
        p_.arrivals = parse_arrivals("uniform:max=40us,seed=3", ranks);
        all_ = build_all(a, p_);
    }

    played play(const std::vector<time_ns>& arrivals) const {
        const response passes = *response_of(all_, sizes_, model_);
        played p;
        std::vector<std::int64_t> at;
        for (const time_ns t : arrivals) at.push_back(t.count());
        p.by_response.resize(at.size());
        passes.leave(at, p.by_response);
        for (const time_ns t : rubato::simulate(model_, all_, std::span(&sizes_, 1), arrivals).exits)
            p.simulated.push_back(t.count());
        return p;
    }

private:
    model model_;
    problem p_{};
    layout sizes_;
    std::vector<schedule> all_{};
};

bool is_simple(const algorithm& a, std::int32_t ranks) {
    problem p;
    p.what = a.what;
    p.ranks = ranks;
    p.round_time = time_ns(3000);
    return a.dynamic == nullptr && !a.early && !traits(a.what).irregular && !traits(a.what).on_graph &&
           !unmet_need(a, p);
}

const std::vector<const char*> patterns{"balanced", "uniform:max=90us,seed=5", "single:rank=0,delay=70us",
                                        "alternating:even=0,odd=50us"};

TEST(response, is_the_simulation_where_all_orders_are_given) {
    int compared = 0;
    for (const algorithm& a : algorithms()) {
        for (const std::int32_t ranks : {1, 2, 5, 8, 13}) {
            if (!is_simple(a, ranks)) continue;
            const case_of c(a, ranks, 3000, model{hockney{700, 2, 1}});
            for (const char* pattern : patterns) {
                const played p = c.play(parse_arrivals(pattern, ranks));
                ASSERT_EQ(p.by_response, p.simulated) << a.id << ", " << ranks << " ranks, " << pattern;
                ++compared;
            }
        }
    }
    EXPECT_GT(compared, 800);
}

/// Under LogGP orders may change: the last exit is near, and far off in few cases.
TEST(response, is_near_the_simulation_elsewhere) {
    int compared = 0, off = 0;
    for (const algorithm& a : algorithms()) {
        for (const std::int32_t ranks : {2, 8, 13}) {
            if (!is_simple(a, ranks)) continue;
            for (const char* network :
                 {"loggp:L=5us,o=0.6us,g=0.8us,G=2ns", "loggp:L=5us,o=0.6us,g=0.8us,G=2ns,rendezvous=8KiB"}) {
                const case_of c(a, ranks, 30000, parse_model(network));
                for (const char* pattern : patterns) {
                    const played p = c.play(parse_arrivals(pattern, ranks));
                    const auto ours = static_cast<double>(std::ranges::max(p.by_response));
                    const auto theirs = static_cast<double>(std::ranges::max(p.simulated));
                    ++compared;
                    off += std::abs(ours / theirs - 1) > 0.1 ? 1 : 0;
                }
            }
        }
    }
    EXPECT_GT(compared, 1000);
    EXPECT_LT(off, compared / 15) << off << " of " << compared;
}

/// Two ranks on each host have one link together. In which order they use it is fixed, as if all came together.
TEST(response, is_near_the_simulation_where_ranks_share_a_link) {
    const model outside = parse_model("loggp:L=100us,o=2us,g=5us,G=100ns,rendezvous=64KiB");
    const model inside = parse_model("loggp:L=2us,o=2us,g=1us,G=1ns,rendezvous=64KiB");
    const layout sizes = layout::uniform(100000);
    int compared = 0;
    int off = 0;
    for (const algorithm& a : algorithms()) {
        for (const std::vector<std::int32_t>& where :
             {std::vector<std::int32_t>{0, 0, 1, 1, 2, 2, 3, 3}, std::vector<std::int32_t>{0, 1, 2, 3, 0, 1, 2, 3}}) {
            if (!is_simple(a, 8)) continue;
            problem p{.what = a.what, .ranks = 8};
            p.segments = a.segmented ? 5 : 1;
            p.round_time = 10ms;
            p.hosts = where;
            p.arrivals.resize(8);
            const std::vector<schedule> all = build_all(a, p);
            const response passes = *response_of(all, sizes, outside, {p.hosts, &inside, {}});
            std::vector<std::int64_t> exits(8);
            passes.leave(std::vector<std::int64_t>(8), exits);
            simulation_options how;
            how.hosts = p.hosts;
            how.inside = &inside;
            how.shared_links = true;
            const auto theirs = static_cast<double>(
                std::ranges::max(rubato::simulate(outside, all, std::span(&sizes, 1), p.arrivals, how).exits).count());
            ++compared;
            off += std::abs(static_cast<double>(std::ranges::max(exits)) / theirs - 1) > 0.1 ? 1 : 0;
        }
    }
    EXPECT_GT(compared, 100);
    EXPECT_LT(off, compared / 10) << off << " of " << compared;
}

}  // namespace
}  // namespace rubato::simulator
