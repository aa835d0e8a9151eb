#include "simulator/formulas/rating.hpp"

#include "support/error_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rubato::simulator {
namespace {

std::vector<rated> rate_paper(collective what, std::int32_t ranks, std::int64_t bytes, std::uint32_t segments = 0) {
    return rate(parse_model("infiniband2008"), what, {ranks, bytes, segments});
}

TEST(rating, the_fastest_comes_first_with_every_power_of_two_of_segments) {
    const auto all = rate_paper(collective::bcast, 64, 1 << 20);
    EXPECT_TRUE(std::ranges::is_sorted(all, {}, [](const rated& r) { return r.value.time_ns; }));
    EXPECT_EQ(std::ranges::count(all, "bcast/chain", [](const rated& r) { return r.by->id; }), 11);
    EXPECT_EQ(std::ranges::count(all, "bcast/linear", [](const rated& r) { return r.by->id; }), 1);
    EXPECT_EQ(rate_paper(collective::bcast, 64, 3).size(), rate_paper(collective::bcast, 64, 2).size());
    for (const rated& r : rate_paper(collective::bcast, 64, 1 << 20, 5))
        EXPECT_EQ(r.with.segments, find_algorithm(r.by->id).segmented ? 5U : 1U) << r.by->id;
}

TEST(rating, the_front_is_what_nothing_dominates) {
    const auto all = rate_paper(collective::bcast, 64, 1 << 20);
    const auto better = [](const rated& a, const rated& b) {
        return a.value.time_ns < b.value.time_ns && a.energy_j() < b.energy_j() && a.memory < b.memory;
    };
    std::size_t on_front = 0;
    for (const rated& r : all) {
        on_front += r.on_front ? 1 : 0;
        for (const rated& other : all) EXPECT_FALSE(r.on_front && better(other, r)) << r.by->id << ' ' << other.by->id;
        const bool covered = std::ranges::any_of(all, [&r](const rated& other) {
            return other.on_front && other.value.time_ns <= r.value.time_ns && other.energy_j() <= r.energy_j() &&
                   other.memory <= r.memory;
        });
        EXPECT_TRUE(covered) << r.by->id;
    }
    EXPECT_GT(on_front, 1U);
    EXPECT_LT(on_front, all.size());
    for (const metric m : {metric::time, metric::energy, metric::memory}) EXPECT_TRUE(best_by(all, m).on_front);
}

TEST(rating, the_fastest_within_a_budget) {
    const auto all = rate_paper(collective::allreduce, 64, 8);
    EXPECT_EQ(fastest_within(all, {}), &all.front());
    const rated& frugal = best_by(all, metric::energy);
    EXPECT_EQ(fastest_within(all, {frugal.energy_j(), {}}), &frugal);
    const rated& small = best_by(all, metric::memory);
    EXPECT_EQ(fastest_within(all, {{}, small.memory}), &small);
    EXPECT_EQ(fastest_within(all, {frugal.energy_j() / 2, {}}), nullptr);
    EXPECT_EQ(fastest_within(all, {{}, small.memory / 2}), nullptr);
}

TEST(rating, overhead_is_the_time_without_a_network) {
    for (const rated& r : rate_paper(collective::bcast, 16, 1000)) {
        EXPECT_LT(r.overhead_ns, r.value.time_ns) << r.by->id;
        EXPECT_GT(r.overhead_ns, 0) << r.by->id;
    }
    const auto all = rate_paper(collective::bcast, 16, 1000);
    const auto binomial = std::ranges::find(all, "bcast/binomial", [](const rated& r) { return r.by->id; });
    EXPECT_DOUBLE_EQ(binomial->overhead_ns, 4 * 2 * 4700.);
    // Combining is work of the CPU.
    const auto sums = rate({loggp{5000, 1000, 2000, 1, 0.5}}, collective::allreduce, {16, 1000});
    const auto pairs = std::ranges::find(sums, "allreduce/dissemination", [](const rated& r) { return r.by->id; });
    EXPECT_DOUBLE_EQ(pairs->overhead_ns, 4 * (2 * 1000. + 500));
}

TEST(rating, energy_is_the_sum_of_its_parts) {
    const rated first = rate_paper(collective::bcast, 16, 1000).front();
    EXPECT_DOUBLE_EQ(first.static_j, first.value.time_ns * 1e-9 * 16 * 0.5);
    EXPECT_DOUBLE_EQ(first.dynamic_j, first.value.messages * 16.5e-6 + first.value.bytes * 8.1e-9);
}

TEST(rating, leaves_out_what_cannot_solve_the_problem) {
    const auto has = [](const std::vector<rated>& all, std::string_view id) {
        return std::ranges::any_of(all, [id](const rated& r) { return r.by->id == id; });
    };
    EXPECT_TRUE(has(rate_paper(collective::allreduce, 8, 8), "allreduce/rabenseifner"));
    EXPECT_FALSE(has(rate_paper(collective::allreduce, 9, 8), "allreduce/rabenseifner"));
    EXPECT_FALSE(has(rate_paper(collective::allgather, 9, 8), "allgather/recursive_doubling"));
}

TEST(rating, errors) {
    EXPECT_EQ(error_text([] { parse_metric("beauty"); }),
              "unknown metric 'beauty': there are time, overhead, energy, memory; use one of them");
    EXPECT_NE(error_text([] {
                  rate(parse_model("curie"), collective::bcast, {4, 1});
              }).find("no closed forms"),
              std::string::npos);
}

}  // namespace
}  // namespace rubato::simulator
