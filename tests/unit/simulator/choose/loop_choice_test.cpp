#include "simulator/choose/loop_choice.hpp"

#include "rubato/layout.hpp"
#include "simulator/choose/response.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rubato::simulator {
namespace {

using namespace std::chrono_literals;
using rank_times = std::vector<time_ns>;

TEST(loop_choice, the_bound_is_the_longest_sum_where_ranks_may_be_ahead) {
    std::vector<call_gap> turns{{{90ms, 10ms, 10ms}}, {{10ms, 90ms, 10ms}}, {{10ms, 10ms, 90ms}}};
    const rank_times together(3);
    EXPECT_EQ(earliest_next(collective::reduce, rank(0), together, turns), 110ms);
    EXPECT_EQ(earliest_next(collective::allreduce, rank(0), together, turns), 270ms);
    EXPECT_EQ(earliest_next(collective::bcast, rank(0), together, turns), 190ms) << "rank 2 follows the root";
    turns[1].meets = true;
    EXPECT_EQ(earliest_next(collective::reduce, rank(0), together, turns), 190ms) << "two at once, then the third";
    for (call_gap& g : turns) g.meets = true;
    EXPECT_EQ(earliest_next(collective::reduce, rank(0), together, turns), 270ms);
    EXPECT_EQ(earliest_next(collective::reduce, rank(0), {5ms, 0ms, 0ms}, {}), 5ms);
}

const model slow = parse_model("loggp:L=100us,o=20us,g=5us,G=167ns,rendezvous=64KiB");
constexpr std::int64_t half_a_mib = 512 << 10;

std::vector<candidate> chosen(const problem& p, const call_loop& calls) {
    return choose_for_loop(p, half_a_mib, slow, candidates_for(p, half_a_mib, slow, false), calls);
}

/// Another rank is late in each call, by a fixed sequence.
call_loop moving(std::size_t ranks, std::size_t calls) {
    call_loop l;
    for (std::size_t c = 0; c < calls; ++c) {
        l.gaps.push_back({rank_times(ranks, 5ms)});
        l.gaps.back().computing[(7 * c + 3) % ranks] = 400ms;
    }
    l.foreseen = false;
    return l;
}

/// What is said of each candidate is what comes of playing the calls one by one, in a loop that is long.
TEST(loop_choice, a_loss_is_what_the_loop_takes_longer) {
    constexpr std::int32_t ranks = 8;
    problem p{.what = collective::reduce, .ranks = ranks, .root = rank(0)};
    call_loop calls = moving(ranks, 8);
    calls.foreseen = true;  // plays just these
    for (const candidate& c : chosen(p, calls)) {
        problem cut = p;
        cut.segments = c.segments;
        cut.round_time = c.round_time;
        const auto by = response_of(build_all(*c.use, cut), layout::uniform(half_a_mib), slow);
        std::vector<std::int64_t> states(3 * ranks);
        std::vector<std::int64_t> after(states.size());
        constexpr int n = 400;
        for (int i = 0; i < n; ++i) {
            by->pass(states, after);
            states = after;
            const rank_times& computing = calls.gaps[static_cast<std::size_t>(i) % calls.gaps.size()].computing;
            for (std::size_t r = 0; r < ranks; ++r) states[r] += computing[r].count();
        }
        std::vector<call_gap> all;
        for (std::size_t i = 0; i < n; ++i) all.push_back(calls.gaps[i % calls.gaps.size()]);
        const time_ns earliest = earliest_next(p.what, p.root, rank_times(ranks), all);
        const time_ns loss = (time_ns(*std::max_element(states.begin(), states.begin() + ranks)) - earliest) / n;
        const double near = 0.25 * static_cast<double>(loss.count()) + 1e6;  // ranks get ahead little by little
        EXPECT_NEAR(static_cast<double>(c.end.count()), static_cast<double>(loss.count()), near) << c.name;
    }
}

TEST(loop_choice, takes_what_lets_ranks_go_where_others_are_late_each_time) {
    problem p{.what = collective::reduce, .ranks = 16, .root = rank(0)};
    p.arrivals = moving(16, 8).gaps.back().computing;
    const std::vector<candidate> free = chosen(p, moving(16, 8));
    EXPECT_TRUE(free.front().use->id == "reduce/chain" || free.front().use->id == "reduce/binary") << free.front().name;
    EXPECT_FALSE(free.front().waits);
}

/// Nobody can foresee the late rank: what plans for the wrong one is not best.
TEST(loop_choice, does_not_believe_that_the_late_rank_stays_the_same) {
    problem p{.what = collective::allreduce, .ranks = 16};
    call_loop one = moving(16, 1);
    p.arrivals = one.gaps.front().computing;
    one.foreseen = true;
    EXPECT_TRUE(chosen(p, one).front().use->arrival_aware);
    call_loop others = moving(16, 6);
    EXPECT_FALSE(chosen(p, others).front().use->arrival_aware) << chosen(p, others).front().name;
}

TEST(loop_choice, same_arguments_same_choice) {
    problem p{.what = collective::bcast, .ranks = 13, .root = rank(5)};
    const call_loop calls = moving(13, 3);
    const std::vector<candidate> once = chosen(p, calls);
    const std::vector<candidate> again = chosen(p, calls);
    ASSERT_EQ(once.size(), again.size());
    for (std::size_t i = 0; i < once.size(); ++i) {
        EXPECT_EQ(once[i].name, again[i].name);
        EXPECT_EQ(once[i].end, again[i].end);
    }
}

}  // namespace
}  // namespace rubato::simulator
