#include "engine/execute/sparse_exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace rubato {
namespace {

using namespace std::chrono_literals;

/// Makes so many exchanges, each of which takes cost[way]; returns the ways.
std::vector<std::size_t> make(engine::sparse_choice& c, int exchanges, std::int64_t partners,
                              const std::vector<time_ns>& cost, time_ns& before) {
    std::vector<std::size_t> used;
    for (int i = 0; i < exchanges; ++i) {
        used.push_back(c.next());
        c.ended(used.back(), {partners, 1000 * partners}, before);
        before = cost[used.back()];
    }
    return used;
}

TEST(sparse_choice, tries_every_way_twice_and_keeps_to_the_fastest) {
    for (std::size_t fastest = 0; fastest < 3; ++fastest) {
        engine::sparse_choice c;
        std::vector<time_ns> cost(3, 5ms);
        cost[fastest] = 3ms;
        time_ns before{};
        const auto used = make(c, 40, 4, cost, before);
        for (std::size_t w = 0; w < 3; ++w) EXPECT_GE(std::ranges::count(used, w), 2) << "way " << w;
        EXPECT_GE(std::ranges::count(used, fastest), 35);
        for (std::size_t i = 9; i < used.size(); ++i) EXPECT_EQ(used[i], fastest) << "exchange " << i;
    }
}

TEST(sparse_choice, tells_few_partners_from_many) {
    engine::sparse_choice c;
    time_ns before{};
    make(c, 20, 1, {1ms, 9ms, 9ms}, before);
    EXPECT_EQ(make(c, 20, 15, {9ms, 9ms, 2ms}, before).back(), 2U);
    EXPECT_EQ(make(c, 3, 1, {1ms, 9ms, 9ms}, before).back(), 0U) << "it has not forgotten";
}

TEST(sparse_choice, finds_the_way_of_each_of_two_that_alternate) {
    engine::sparse_choice c;
    time_ns before{};
    std::size_t few = 9;
    std::size_t many = 9;
    for (int i = 0; i < 20; ++i) {
        few = make(c, 1, 1, {3ms, 9ms, 1ms}, before).back();
        many = make(c, 1, 15, {9ms, 4ms, 2ms}, before).back();
    }
    EXPECT_EQ(few, 2U);
    EXPECT_EQ(many, 2U);
    for (int i = 0; i < 20; ++i) {
        few = make(c, 1, 1, {3ms, 9ms, 1ms}, before).back();
        many = make(c, 1, 15 << 10, {9ms, 4ms, 20ms}, before).back();
    }
    EXPECT_EQ(few, 2U);
    EXPECT_EQ(many, 1U) << "it is another kind";
}

TEST(sparse_choice, tells_small_messages_from_large_ones) {
    engine::sparse_choice c;
    time_ns before{};
    const auto go_on = [&](std::int64_t bytes, const std::vector<time_ns>& cost) {
        std::size_t way = 0;
        for (int i = 0; i < 20; ++i) {
            way = c.next();
            c.ended(way, {4, bytes}, before);
            before = cost[way];
        }
        return way;
    };
    EXPECT_EQ(go_on(8, {9ms, 1ms, 9ms}), 1U);
    EXPECT_EQ(go_on(1 << 20, {9ms, 9ms, 7ms}), 2U);
}

TEST(sparse_choice, leaves_a_way_that_becomes_slow) {
    engine::sparse_choice c;
    time_ns before{};
    EXPECT_EQ(make(c, 20, 4, {1ms, 2ms, 3ms}, before).back(), 0U);
    EXPECT_EQ(make(c, 20, 4, {9ms, 2ms, 3ms}, before).back(), 1U);
}

TEST(sparse_choice, is_not_misled_by_one_slow_try) {
    engine::sparse_choice c;
    time_ns before{};
    EXPECT_EQ(c.next(), 0U);
    c.ended(0, {4, 4000}, 0ms);
    before = 50ms;  // somebody was disturbed
    EXPECT_EQ(make(c, 20, 4, {1ms, 2ms, 3ms}, before).back(), 0U);
}

}  // namespace
}  // namespace rubato
