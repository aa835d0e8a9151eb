#include "simulator/programs/plan_choice.hpp"

#include "rubato/choose.hpp"
#include "support/error_text.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace rubato::simulator {
namespace {

const model slow_links{loggp{100'000, 20'000, 5'000, 167, 0}};

/// Another rank is late in each iteration, by ten vectors' times.
std::string moving_straggler(const std::string& call, int iterations) {
    std::string text = "ranks 8\n";
    for (int i = 0; i < iterations; ++i)
        text += fmt::format("compute single:rank={},delay=100ms uniform:max=8ms,seed={}\n{} 64KiB\n", (5 * i + 3) % 8,
                            i, call);
    return text;
}

time_ns end_of(const program& p) { return std::ranges::max(play(p, slow_links, {}, {}).exits); }

TEST(plan_choice, is_nearly_the_best_of_all_plans) {
    for (const char* call : {"reduce", "bcast", "allreduce", "gather"}) {
        const program p = parse_program(moving_straggler(call, 12), "p", 0);
        const plan_choice chosen = choose_plan(p, slow_links);
        const time_ns end = end_of(planned(p, chosen));
        time_ns best = time_ns::max();
        problem asked;
        asked.what = p.calls[0].what;
        asked.ranks = p.ranks;
        for (const candidate& c : candidates_for(asked, p.calls[0].chunk, slow_links, false)) {
            if (c.use->arrival_aware) continue;
            program other = p;
            for (program_call& each : other.calls) each.use = c.use, each.segments = c.segments;
            best = std::min(best, end_of(other));
        }
        EXPECT_LE(end, best + best / 20) << call << " by " << chosen.calls[0].front().name;
        EXPECT_LE(std::chrono::abs(chosen.end - end), end / 10) << call << " by " << chosen.calls[0].front().name;
    }
}

/// All wait for all in a tree that is made for the mean, and nobody in a chain.
TEST(plan_choice, lets_ranks_run_ahead) {
    const program p = parse_program(moving_straggler("reduce", 24), "p", 0);
    const plan_choice chosen = choose_plan(p, slow_links);
    EXPECT_LT(chosen.end, chosen.call_by_call);
    const auto& all = chosen.calls[0];
    EXPECT_TRUE(std::ranges::is_sorted(all.begin() + 1, all.end(), {}, &candidate::end));
    EXPECT_EQ(all.front().end, chosen.end);
    for (const std::size_t first : chosen.alike) EXPECT_EQ(first, 0U);
}

TEST(plan_choice, what_the_program_says_stays) {
    const program p = parse_program("ranks 4\nbcast/binomial 1000\nallreduce 1000\nbcast 1000\n", "p", 0);
    const plan_choice chosen = choose_plan(p, slow_links);
    ASSERT_EQ(chosen.calls.size(), 3U);
    EXPECT_EQ(chosen.calls[0].size(), 1U);
    EXPECT_EQ(chosen.calls[0][0].use->id, "bcast/binomial");
    EXPECT_EQ(chosen.alike, (std::vector<std::size_t>{0, 1, 2}));
    const program made = planned(p, chosen);
    EXPECT_EQ(made.calls[1].use, chosen.calls[1].front().use);
}

TEST(plan_choice, calls_of_some_ranks_and_without_blocking) {
    const program p = parse_program(
        "ranks 6\ncompute single:rank=1,delay=90ms\nreduce 32KiB root=2\ncompute 1ms\nexchange torus:6 1KiB\nbarrier\n",
        "p", 0);
    const plan_choice chosen = choose_plan(p, slow_links);
    const time_ns end = end_of(planned(p, chosen));
    EXPECT_LE(std::chrono::abs(chosen.end - end), end / 10);
}

}  // namespace
}  // namespace rubato::simulator
