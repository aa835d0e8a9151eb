#include "reports/results/results.hpp"

#include <gtest/gtest.h>

namespace rubato::reports {
namespace {

using namespace std::chrono_literals;

overlap sample_of(std::string method, std::int32_t tests, time_ns total, time_ns computation = {},
                  time_ns in_each_call = {}) {
    overlap o;
    o.name = "native";
    o.method = std::move(method);
    o.tests = tests;
    o.total = total;
    o.computation = computation;
    o.initiation = o.testing = o.waiting = in_each_call;
    return o;
}

TEST(overlap, share_that_is_hidden) {
    EXPECT_DOUBLE_EQ(hidden_share(25, 100), 0.75);
    EXPECT_DOUBLE_EQ(hidden_share(0, 100), 1);
    EXPECT_DOUBLE_EQ(hidden_share(100, 100), 0);
    EXPECT_DOUBLE_EQ(hidden_share(170, 100), 0) << "longer than the blocking call";
    EXPECT_DOUBLE_EQ(hidden_share(-3, 100), 1) << "the computation alone was disturbed";
    EXPECT_DOUBLE_EQ(hidden_share(0, 0), 0) << "nothing to hide";
    EXPECT_DOUBLE_EQ(hidden_share(5, 0), 0);
}

TEST(overlap, what_is_seen_and_what_calls_take) {
    overlap o;
    o.total = 130us;
    o.computation = 100us;
    o.initiation = 1us;
    o.testing = 2us;
    o.waiting = 4us;
    EXPECT_EQ(visible(o), 30us);
    EXPECT_EQ(in_calls(o), 7us);
}

TEST(overlap, medians_by_contestant_method_and_tests) {
    std::vector<overlap> all;
    for (const time_ns extra : {20us, 30us, 40us}) {
        all.push_back(sample_of("nonblocking+compute", 4, 100us + extra, 100us, 5us));
        all.push_back(sample_of("nonblocking+compute", 0, 300us + extra, 100us, 30us));
        all.push_back(sample_of("blocking", 0, 70us + extra));
        all.back().waiting = 60us;
        all.back().overhead = 35us;
    }
    all.push_back(sample_of("blocking", 0, 1s));
    all.back().name = "reduce/chain";
    const std::vector<overlap_summary> is = summarise(all);
    ASSERT_EQ(is.size(), 4U);
    EXPECT_EQ(is[0].tests, 4);
    EXPECT_EQ(is[0].samples, 3U);
    EXPECT_DOUBLE_EQ(is[0].total, 130e3);
    EXPECT_DOUBLE_EQ(is[0].visible, 30e3);
    EXPECT_DOUBLE_EQ(is[0].hidden.value(), 0.7);
    EXPECT_DOUBLE_EQ(is[0].in_calls, 15e3);
    EXPECT_DOUBLE_EQ(is[0].freed.value(), 0.75);
    EXPECT_EQ(is[1].hidden, 0);
    EXPECT_EQ(is[1].freed, 0);
    EXPECT_EQ(is[2].method, "blocking");
    EXPECT_FALSE(is[2].hidden) << "without computation";
    EXPECT_DOUBLE_EQ(is[2].busy.value(), 0.35);
    EXPECT_FALSE(is[0].busy) << "a computation is busy, too";
    EXPECT_EQ(is[3].name, "reduce/chain");
}

TEST(overlap, without_a_blocking_call_nothing_is_said) {
    const std::vector all{sample_of("thread", 0, 130us, 100us, 1us)};
    EXPECT_FALSE(summarise(all).at(0).hidden);
    EXPECT_TRUE(summarise({}).empty());
}

TEST(overlap, less_than_nothing_is_nothing) {
    std::vector all{sample_of("nonblocking+compute", 0, 90us, 100us), sample_of("blocking", 0, 10us)};
    all[0].overhead = -5us;
    EXPECT_DOUBLE_EQ(summarise(all)[0].visible, 0);
    EXPECT_EQ(summarise(all)[0].hidden, 1);
    EXPECT_DOUBLE_EQ(summarise(all)[0].overhead, 0);
}

}  // namespace
}  // namespace rubato::reports
