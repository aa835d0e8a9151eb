#include "schedules/clairvoyant/clairvoyant.hpp"

#include "generators/baselines.hpp"
#include "support/error_text.hpp"
#include "support/extent.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

namespace rubato::schedules {
namespace {

#ifdef NDEBUG
const int random_instances = some_or_all(3000, 20000);
constexpr std::int32_t largest = 512;
#else
constexpr int random_instances = 1500;
constexpr std::int32_t largest = 64;
#endif

using generator = rounds (*)(const instance&);
rounds generate_all(const instance& in) { return generate(in); }
constexpr generator generators[] = {generate_linear, generate_pairing_heap, generate_segment_tree, generate_all};

std::vector<time_ns> nanoseconds(std::initializer_list<std::int64_t> times) {
    std::vector<time_ns> result;
    for (const std::int64_t t : times) result.emplace_back(t);
    return result;
}

/// All on time but the last.
std::vector<time_ns> last_late(std::int32_t ranks, time_ns delay) {
    std::vector<time_ns> arrivals(static_cast<std::size_t>(ranks));
    arrivals.back() = delay;
    return arrivals;
}

std::string describe(const instance& in) {
    std::string text = fmt::format("ranks {}, segments {}, root {}, d {}, arrivals", in.ranks, in.segments,
                                   in.root.value, in.round_time.count());
    for (const time_ns t : in.arrivals) text += fmt::format(" {}", t.count());
    return text;
}

/// What is wrong with these rounds as a reduction, whoever made them; contributions are sets of ranks.
std::string fault(const instance& in, const rounds& schedule) {
    const auto ranks = static_cast<std::size_t>(in.ranks);
    using contributions = std::vector<bool>;
    const contributions none(ranks);
    const contributions all(ranks, true);
    std::vector<std::vector<contributions>> holds(ranks, std::vector<contributions>(in.segments, none));
    for (std::size_t r = 0; r < ranks; ++r)
        for (contributions& c : holds[r]) c[r] = true;
    std::int64_t last = -1;
    for (std::size_t b = 0; b < schedule.busy.size(); ++b) {
        if (schedule.busy[b].number <= last) return "rounds out of order";
        last = schedule.busy[b].number;
        if (schedule.transfers_of(b).empty()) return "a busy round without a transfer";
        std::vector<std::int64_t> sends(ranks, -1);
        std::vector<std::int64_t> receives(ranks, -2);
        std::vector<contributions> sent;
        for (const transfer& x : schedule.transfers_of(b)) {
            const auto from = static_cast<std::size_t>(x.from);
            const auto to = static_cast<std::size_t>(x.to);
            if (from == to) return "sent to itself";
            if (sends[from] >= 0) return "two sends in a round";
            if (receives[to] >= 0) return "two receives in a round";
            sends[from] = receives[to] = x.segment;
            if (holds[from][x.segment] == none) return "sent but not held";
            sent.push_back(std::exchange(holds[from][x.segment], none));
        }
        for (std::size_t r = 0; r < ranks; ++r)
            if (sends[r] == receives[r]) return "a segment goes both ways in a round";
        for (std::size_t k = 0; k < sent.size(); ++k) {
            const transfer& x = schedule.transfers_of(b)[k];
            contributions& into = holds[static_cast<std::size_t>(x.to)][x.segment];
            for (std::size_t r = 0; r < ranks; ++r) {
                if (into[r] && sent[k][r]) return "a contribution counts twice";
                into[r] = into[r] || sent[k][r];
            }
        }
    }
    if (schedule.length != last + 1) return "the length is not that of the last round";
    for (std::size_t r = 0; r < ranks; ++r)
        for (const contributions& c : holds[r])
            if (c != (r == static_cast<std::size_t>(in.root.value) ? all : none)) return "not all is with the root";
    return "";
}

void expect_equal(const instance& in) {
    const rounds expected = generate_linear(in);
    ASSERT_EQ(generate_pairing_heap(in), expected) << describe(in);
    ASSERT_EQ(generate_segment_tree(in), expected) << describe(in);
    ASSERT_EQ(generate(in), expected) << describe(in);
}

rounds part_of(const rounds& all, rank only) {
    rounds part;
    part.length = all.length;
    for (std::size_t b = 0; b < all.busy.size(); ++b) {
        const std::size_t before = part.transfers.size();
        for (const transfer& x : all.transfers_of(b))
            if (x.to == only.value || x.from == only.value) part.transfers.push_back(x);
        if (part.transfers.size() > before) part.busy.push_back({all.busy[b].number, part.transfers.size()});
    }
    return part;
}

class instance_maker {
public:
    explicit instance_maker(std::uint64_t seed) : random_(seed) {}

    std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
    /// Small numbers more often, so that many instances are made.
    std::int64_t size(std::int64_t most) { return 1 + below(std::max<std::int64_t>(1, most >> below(5))); }

    instance make(std::int64_t most_ranks, std::int64_t most_segments) {
        instance in;
        in.ranks = static_cast<std::int32_t>(size(most_ranks));
        in.segments = static_cast<std::uint32_t>(size(most_segments));
        in.root = rank(static_cast<std::int32_t>(below(in.ranks)));
        const std::int64_t d = 1 + below(std::int64_t{1} << below(24));
        in.round_time = time_ns(d);
        const std::int64_t span = 1 + below(std::int64_t{1} << below(30));
        const std::int64_t start = below(4) == 0 ? below(std::int64_t{1} << 50) - (std::int64_t{1} << 49) : 0;
        const std::int64_t kind = below(7);
        const auto late = static_cast<std::size_t>(below(in.ranks));
        std::int64_t gap = 1;
        std::int64_t t = 0;
        for (std::size_t r = 0; r < static_cast<std::size_t>(in.ranks); ++r) {
            switch (kind) {
                case 0: t = 0; break;
                case 1: t = r == late ? span : 0; break;
                case 2: t = below(span); break;
                case 3:  // clusters
                    t = below(4) * span;
                    t += below(1 + span / 16);
                    break;
                case 4: t += below(gap = std::min<std::int64_t>(2 * gap, span)); break;         // growing gaps
                case 5: t = below(1 + 4 * in.ranks) * std::max<std::int64_t>(1, d / 2); break;  // ties
                default: t = below(1 + in.ranks) * d; break;
            }
            in.arrivals.emplace_back(start + t);
        }
        if (kind >= 4) std::shuffle(in.arrivals.begin(), in.arrivals.end(), random_);
        return in;
    }

private:
    std::mt19937_64 random_;
};

TEST(clairvoyant, generators_agree) {
    instance_maker maker(1);
    for (int k = 0; k < random_instances; ++k) expect_equal(maker.make(80, 80));
    for (int k = 0; k < random_instances / 400; ++k) expect_equal(maker.make(300, 80));
    for (int k = 0; k < random_instances / 400; ++k) expect_equal(maker.make(40, 200));
    // Rows of more than eight words.
    for (int k = 0; k < random_instances / 400; ++k) {
        instance in = maker.make(80, 20);
        in.ranks = 520 + 13 * k;
        in.root = rank(in.root.value * 6);
        const std::vector<time_ns> some = in.arrivals;
        in.arrivals.resize(some.empty() ? 0 : static_cast<std::size_t>(in.ranks));
        for (std::size_t r = some.size(); r < in.arrivals.size(); ++r) in.arrivals[r] = some[r * 7 % some.size()];
        EXPECT_EQ(generate(in), generate_linear(in)) << in.ranks << " ranks, " << in.segments << " segments";
    }
}

TEST(clairvoyant, generators_agree_at_the_edges) {
    const std::int64_t far = 1'000'000'000'000'000;
    for (const std::int32_t ranks : {1, 2, 3, 9})
        for (const std::uint32_t segments : {1U, 63U, 64U, 65U, 128U, 129U, 200U})
            for (const std::int32_t root : {0, ranks / 2, ranks - 1})
                for (const std::int64_t delay : {0L, 9L, 10L, 11L, 10'000'000'000L, far, -far}) {
                    // The root apart from all others, then the last rank from two groups of others.
                    instance in{ranks, segments, rank(root), time_ns(10), {}};
                    in.arrivals.assign(static_cast<std::size_t>(ranks), time_ns(0));
                    in.arrivals[static_cast<std::size_t>(root)] = time_ns(delay);
                    expect_equal(in);
                    for (std::size_t r = 0; r < in.arrivals.size(); ++r)
                        in.arrivals[r] = time_ns(far + (r + 1 < in.arrivals.size() ? (r % 2 == 0 ? 0 : 10) : delay));
                    expect_equal(in);
                }
}

TEST(clairvoyant, one_rank_takes_no_rounds) {
    for (const generator make : generators) EXPECT_EQ(make({1, 7, rank(0), time_ns(1), {}}), rounds{});
}

TEST(clairvoyant, long_gaps_take_no_time) {
    const std::int64_t gap = 1'000'000'000;  // in rounds of 1 ns
    const instance in{4, 3, rank(2), time_ns(1), nanoseconds({0, gap, 3 * gap, 1'000'000 * gap})};
    expect_equal(in);
    // The root joins one round before it comes and counts its own rounds from then on; so again for the last rank,
    // whose three segments are the last three rounds.
    EXPECT_EQ(generate(in).length, 1'000'000 * gap - 2 + 3);
}

TEST(clairvoyant, a_rank_gets_its_part) {
    instance_maker maker(2);
    for (int k = 0; k < random_instances / 50; ++k) {
        const instance in = maker.make(40, 40);
        const rounds all = generate(in);
        for (std::int32_t r = 0; r < in.ranks; ++r)
            ASSERT_EQ(generate(in, rank(r)), part_of(all, rank(r))) << describe(in) << ", for " << r;
    }
}

TEST(clairvoyant, reduces) {
    instance_maker maker(3);
    for (int k = 0; k < random_instances / 4; ++k) {
        const instance in = maker.make(20, 20);
        ASSERT_EQ(fault(in, generate(in)), "") << describe(in);
    }
}

TEST(clairvoyant, faults_are_seen) {
    const instance in{2, 1, rank(0), time_ns(1), {}};
    EXPECT_EQ(fault(in, {1, {{0, 1}}, {{0, 1, 0}}}), "");
    EXPECT_EQ(fault(in, {}), "not all is with the root");
    EXPECT_EQ(fault(in, {1, {{0, 1}}, {{1, 0, 0}}}), "not all is with the root");
    EXPECT_EQ(fault(in, {1, {{0, 2}}, {{0, 1, 0}, {1, 0, 0}}}), "a segment goes both ways in a round");
    EXPECT_EQ(fault(in, {1, {{0, 2}}, {{0, 1, 0}, {0, 1, 0}}}), "two sends in a round");
    EXPECT_EQ(fault(in, {2, {{0, 1}, {1, 2}}, {{0, 1, 0}, {0, 1, 0}}}), "sent but not held");
    EXPECT_EQ(fault(in, {2, {{0, 1}}, {{0, 1, 0}}}), "the length is not that of the last round");
}

TEST(clairvoyant, balanced_takes_log_p_plus_n_minus_1) {
    for (std::int32_t ranks = 4; ranks <= largest; ranks *= 2)
        for (std::int32_t segments = 4; segments <= largest; segments *= 2) {
            const instance in{ranks, static_cast<std::uint32_t>(segments), rank(0), time_ns(1000), {}};
            EXPECT_EQ(generate(in).length, ceil_log2(ranks) + segments - 1) << describe(in);
        }
    for (const generator make : generators) EXPECT_EQ(make({64, 32, rank(5), time_ns(1000), {}}).length, 6 + 32 - 1);
    // One more than the least.
    for (const generator make : generators) EXPECT_EQ(make({21, 8, rank(0), time_ns(1000), {}}).length, 13);
}

// Marendic et al. 2016, Table 2: what the rule makes of it in round 3.
TEST(clairvoyant, table_2) {
    for (const generator make : generators) {
        const rounds schedule = make({4, 4, rank(0), time_ns(1000), {}});
        ASSERT_EQ(schedule.length, 5);
        const auto equal = [&](std::size_t number, const std::vector<transfer>& expected) {
            const auto found = schedule.transfers_of(number);
            return std::vector(found.begin(), found.end()) == expected;
        };
        EXPECT_TRUE(equal(0, {{0, 1, 0}, {1, 0, 1}, {2, 3, 0}, {3, 2, 1}}));
        EXPECT_TRUE(equal(2, {{0, 1, 1}, {1, 0, 3}, {2, 3, 2}, {3, 2, 3}}));
    }
}

// Marendic et al. 2016, Fig. 8.
TEST(clairvoyant, one_comes_when_the_others_are_done) {
    const time_ns d{1000};
    for (const generator make : generators) {
        EXPECT_EQ(make({4, 4, rank(0), d, last_late(4, 5 * d)}).length, 8);
        EXPECT_EQ(make({4, 4, rank(0), d, last_late(4, 5 * d + time_ns(1))}).length, 9);
    }
}

// Marendic et al. 2016, sec. 7: 60 ms late, rounds of 643 us.
TEST(clairvoyant, length_of_the_experiment) {
    const instance in{128, 40, rank(0), std::chrono::microseconds(643), last_late(128, std::chrono::milliseconds(60))};
    for (const generator make : generators) EXPECT_EQ(make(in).length, 133);
}

// Proficz & Ocetkiewicz 2020, 5.1: one segment, a new rank each second, rounds of 1 ms.
TEST(clairvoyant, passes_idle_rounds) {
    instance in{4, 1, rank(0), std::chrono::milliseconds(1), {}};
    for (int r = 0; r < 4; ++r) in.arrivals.emplace_back(std::chrono::seconds(r));
    const rounds expected{3000, {{999, 1}, {1999, 2}, {2999, 3}}, {{0, 1, 0}, {0, 2, 0}, {0, 3, 0}}};
    for (const generator make : generators) EXPECT_EQ(make(in), expected);
}

// Proficz & Ocetkiewicz 2020, Fig. 1: one comes in each round. Who sends which segment in which round, 0: not yet.
TEST(clairvoyant, one_comes_in_each_round) {
    constexpr std::int64_t expected[6][13] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0},  //
        {1, 2, 4, 6, 8, 10, 11, 0, 0, 0, 0, 0, 0},  //
        {2, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 0},  //
        {3, 3, 0, 5, 6, 7, 8, 9, 10, 11, 0, 0, 0},  //
        {4, 4, 5, 0, 7, 8, 9, 10, 11, 0, 0, 0, 0},  //
        {5, 5, 6, 7, 0, 9, 10, 11, 0, 0, 0, 0, 0},
    };
    instance in{64, 6, rank(0), time_ns(1), {}};
    for (std::int32_t r = 0; r < in.ranks; ++r) in.arrivals.emplace_back(r);
    for (const generator make : generators) {
        const rounds r = make(in);
        std::int64_t sent[6][13] = {};
        for (std::size_t k = 0; k < 11; ++k)
            for (const transfer& t : r.transfers_of(k))
                if (t.from < 13) sent[t.segment][t.from] = r.busy[k].number + 1;
        for (std::size_t s = 0; s < 6; ++s)
            for (std::size_t who = 0; who < 13; ++who)
                EXPECT_EQ(sent[s][who], expected[s][who]) << "segment " << s << " of " << who;
    }
}

// Equal modulo d, and yet not next to each other: 1 comes d after 0, and 2 is between them.
TEST(clairvoyant, exactly_a_round_later_is_last) {
    const instance in{3, 1, rank(0), time_ns(10), nanoseconds({0, 10, 5})};
    const rounds expected{2, {{0, 1}, {1, 2}}, {{0, 2, 0}, {0, 1, 0}}};
    for (const generator make : generators) EXPECT_EQ(make(in), expected);
}

TEST(clairvoyant, refuses_what_makes_no_sense) {
    const auto text = [](const instance& in) {
        std::string found;
        for (const generator make : generators) {
            const std::string now = error_text([&] { make(in); });
            EXPECT_TRUE(found.empty() || found == now) << now;
            found = now;
        }
        return found;
    };
    const auto starts = [](const std::string& found, std::string_view with) {
        return found.substr(0, with.size()) == with;
    };
    EXPECT_EQ(error_text([] { check({3, 2, rank(1), time_ns(5), nanoseconds({1, 2, 3})}); }), "no error");
    EXPECT_PRED2(starts, text({0, 1, rank(0), time_ns(1), {}}), "0 ranks");
    EXPECT_PRED2(starts, text({2, 0, rank(0), time_ns(1), {}}), "0 segments");
    EXPECT_PRED2(starts, text({2, 1, rank(2), time_ns(1), {}}), "root 2");
    EXPECT_PRED2(starts, text({2, 1, rank(0), time_ns(0), {}}), "round time 0");
    EXPECT_PRED2(starts, text({2, 1, rank(0), time_ns::max(), {}}), "round time ");
    EXPECT_PRED2(starts, text({2, 1, rank(0), time_ns(1), nanoseconds({1})}), "1 arrival times for 2 ranks");
    EXPECT_PRED2(starts, text({2, 1, rank(0), time_ns(1), {time_ns::max(), time_ns(0)}}), "arrival ");
    EXPECT_PRED2(starts, text({2, 1, rank(0), time_ns(1), {time_ns::min(), time_ns(0)}}), "arrival ");
}

}  // namespace
}  // namespace rubato::schedules
