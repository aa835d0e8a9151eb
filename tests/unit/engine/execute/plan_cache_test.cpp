// One plan serves all problems that are alike after rounding; the cache keeps the plans used last.
#include "engine/execute/plan_cache.hpp"

#include "support/error_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rubato::engine {
namespace {

const algorithm& clairvoyant_reduce() { return find_algorithm("reduce/clairvoyant"); }

problem with_arrivals(const std::vector<std::int64_t>& arrivals, std::int64_t round_time = 1000) {
    problem p;
    p.what = collective::reduce;
    p.ranks = static_cast<std::int32_t>(arrivals.size());
    p.segments = 4;
    p.round_time = time_ns(round_time);
    for (const std::int64_t t : arrivals) p.arrivals.emplace_back(t);
    return p;
}

TEST(plan_cache, a_repeated_pattern_is_found) {
    plan_cache cache{rank(1)};
    const auto first = cache.get(clairvoyant_reduce(), with_arrivals({0, 5000, 0, 9000}));
    const auto again = cache.get(clairvoyant_reduce(), with_arrivals({0, 5000, 0, 9000}));
    EXPECT_EQ(first, again);
    EXPECT_EQ(cache.counted().hits, 1U);
    EXPECT_EQ(cache.counted().misses, 1U);
    EXPECT_EQ(cache.counted().hits, cache.counted().misses);
    EXPECT_EQ(cache.counted().plans, 1U);
}

TEST(plan_cache, arrivals_count_from_the_earliest_and_are_rounded) {
    plan_cache cache{rank(0)};
    const auto first = cache.get(clairvoyant_reduce(), with_arrivals({0, 5000, 0, 9000}));
    EXPECT_EQ(first, cache.get(clairvoyant_reduce(), with_arrivals({700, 5700, 700, 9700})));
    EXPECT_EQ(first, cache.get(clairvoyant_reduce(), with_arrivals({0, 5100, 240, 8800})));
    EXPECT_NE(first, cache.get(clairvoyant_reduce(), with_arrivals({0, 5300, 0, 9000})));
    EXPECT_EQ(cache.counted().hits, 2U);
}

TEST(plan_cache, without_a_round_time_only_the_order_counts) {
    plan_cache cache{rank(0)};
    const algorithm& sorted = find_algorithm("gather/sorted_binomial");
    const auto plan_for = [&](const std::vector<std::int64_t>& arrivals) {
        problem p = with_arrivals(arrivals, 0);
        p.what = collective::gather;
        return cache.get(sorted, p);
    };
    const auto first = plan_for({0, 5000, 70, 9000});
    EXPECT_EQ(first, plan_for({1, 700, 3, 80000}));
    EXPECT_NE(first, plan_for({0, 50, 70, 9000}));
    EXPECT_NE(first, plan_for({0, 5000, 0, 9000}));
}

TEST(plan_cache, the_plan_does_not_depend_on_who_came_first) {
    const std::vector<problem> alike{with_arrivals({0, 2600, 100, 4900}), with_arrivals({10, 2510, 0, 5100}),
                                     with_arrivals({240, 2400, 0, 4760})};
    plan_cache forth{rank(2)};
    plan_cache back{rank(2)};
    for (const problem& p : alike) forth.get(clairvoyant_reduce(), p);
    std::ranges::for_each(alike.rbegin(), alike.rend(), [&](const problem& p) { back.get(clairvoyant_reduce(), p); });
    EXPECT_EQ(forth.counted().plans, 1U);
    EXPECT_EQ(forth.get(clairvoyant_reduce(), alike[0])->steps.steps(),
              back.get(clairvoyant_reduce(), alike[0])->steps.steps());
}

TEST(plan_cache, the_rounding_can_be_set) {
    plan_cache cache{rank(0), {.most_bytes = 1 << 20, .quantum = time_ns(4000)}};
    const auto first = cache.get(clairvoyant_reduce(), with_arrivals({0, 4000, 0, 8000}));
    EXPECT_EQ(first, cache.get(clairvoyant_reduce(), with_arrivals({0, 5900, 0, 6100})));
    EXPECT_NE(first, cache.get(clairvoyant_reduce(), with_arrivals({0, 6100, 0, 8000})));
}

TEST(plan_cache, what_an_algorithm_does_not_use_makes_no_difference) {
    plan_cache cache{rank(0)};
    const algorithm& a = find_algorithm("reduce/binomial");
    problem p = with_arrivals({0, 5000, 0, 9000});
    const auto first = cache.get(a, p);
    p.arrivals[1] = time_ns(77);
    p.segments = 9;
    p.radix = {7};
    EXPECT_EQ(first, cache.get(a, p));
    p.root = rank(1);
    EXPECT_NE(first, cache.get(a, p));
    EXPECT_NE(first, cache.get(clairvoyant_reduce(), p));
}

TEST(plan_cache, what_is_balanced_after_rounding_is_the_balanced_problem) {
    plan_cache cache{rank(0)};
    const auto first = cache.get(clairvoyant_reduce(), with_arrivals({0, 0, 0, 0}, 0));
    EXPECT_EQ(first, cache.get(clairvoyant_reduce(), with_arrivals({9, 100, 200, 12})));
}

TEST(plan_cache, memory_is_bounded_and_the_one_used_last_goes_last) {
    const auto pattern = [](std::int64_t k) { return with_arrivals({0, 1000 * k, 0, 0, 0, 0, 0, 0}); };
    plan_cache one{rank(0)};
    one.get(clairvoyant_reduce(), pattern(1));
    const std::size_t each = one.counted().bytes;
    ASSERT_GT(each, sizeof(plan));
    plan_cache cache{rank(0), {.most_bytes = 4 * each, .quantum = time_ns(1)}};
    const auto kept = cache.get(clairvoyant_reduce(), pattern(1));
    for (std::int64_t k = 2; k < 40; ++k) {
        cache.get(clairvoyant_reduce(), pattern(k));
        EXPECT_EQ(kept, cache.get(clairvoyant_reduce(), pattern(1))) << "used again and again, but dropped at " << k;
        EXPECT_LE(cache.counted().bytes, 4 * each);
    }
    EXPECT_LE(cache.counted().plans, 9U) << "of 39";
    const std::uint64_t misses = cache.counted().misses;
    cache.get(clairvoyant_reduce(), pattern(39));
    EXPECT_EQ(cache.counted().misses, misses);
    cache.get(clairvoyant_reduce(), pattern(2));
    EXPECT_EQ(cache.counted().misses, misses + 1);
}

TEST(plan_cache, one_that_is_too_large_is_used_all_the_same) {
    plan_cache cache{rank(0), {.most_bytes = 1, .quantum = {}}};
    const auto first = cache.get(clairvoyant_reduce(), with_arrivals({0, 5000}));
    const auto second = cache.get(clairvoyant_reduce(), with_arrivals({0, 9000}));
    EXPECT_EQ(cache.counted().plans, 1U);
    EXPECT_FALSE(first->steps.steps().steps.empty());
    EXPECT_FALSE(second->steps.steps().steps.empty());
}

TEST(plan_cache, a_refused_problem_leaves_nothing_behind) {
    plan_cache cache{rank(0)};
    EXPECT_NE(error_text([&] {
                  cache.get(clairvoyant_reduce(), with_arrivals({0, 5000}, 0));
              }).find("round"),
              std::string::npos);
    EXPECT_EQ(cache.counted().plans, 0U);
}

}  // namespace
}  // namespace rubato::engine
