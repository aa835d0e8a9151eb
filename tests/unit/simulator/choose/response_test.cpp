#include "simulator/choose/response.hpp"

#include "rubato/arrival.hpp"
#include "rubato/simulate.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace rubato::simulator {
namespace {

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
        sized_.resize(all_.size());
        for (std::size_t r = 0; r < all_.size(); ++r) schedules::size_schedule(all_[r], sizes_, sized_[r]);
    }

    played play(const std::vector<time_ns>& arrivals) const {
        const response passes = *response_of(sized_, model_);
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
    std::vector<schedules::sized_schedule> sized_{};
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
            const case_of c(a, ranks, 30000, model{loggp{5000, 600, 800, 2, 0}});
            for (const char* pattern : patterns) {
                const played p = c.play(parse_arrivals(pattern, ranks));
                const auto ours = static_cast<double>(std::ranges::max(p.by_response));
                const auto theirs = static_cast<double>(std::ranges::max(p.simulated));
                ++compared;
                off += std::abs(ours / theirs - 1) > 0.1 ? 1 : 0;
            }
        }
    }
    EXPECT_GT(compared, 500);
    EXPECT_LT(off, compared / 15) << off << " of " << compared;
}

}  // namespace
}  // namespace rubato::simulator
