// Modes force and rules.
#include "dropin/direct/follower.hpp"

#include <gtest/gtest.h>

#include <array>

namespace rubato::direct_test {
namespace {

using namespace std::chrono_literals;
using verdict = dropin::decision::verdict;

struct told {
    std::vector<dropin::decision> said{};
    int asked = 0;

    dropin::follower of(std::string_view id) {
        return {std::array{&find_algorithm(id)}, 3,
                [this] {
                    ++asked;
                    return model{};
                },
                [this](const dropin::decision& d) { said.push_back(d); }};
    }
};

TEST(follower, has_every_call_made_by_its_algorithm) {
    told t;
    dropin::follower it = t.of("reduce/clairvoyant");
    for (int call = 0; call < 20; ++call) {
        const dropin::directive& how = it.arrive({collective::reduce, rank(0), 100000}, 30ms * call);
        EXPECT_EQ(how.use->id, "reduce/clairvoyant");
        EXPECT_EQ(how.segments, 7U);
        EXPECT_GT(how.round_time, 0ns);
        EXPECT_TRUE(how.arrivals.empty()) << "the communicator knows better";
        it.leave(30ms * call);
    }
    EXPECT_EQ(it.arrive({collective::reduce, rank(2), 1 << 30}, 1s).segments, 4096U);
    EXPECT_EQ(t.asked, 1) << "for the network";
    ASSERT_EQ(t.said.size(), 2U) << "once for each operation";
    EXPECT_EQ(t.said[1].made, verdict::forced);
    EXPECT_EQ(t.said[1].root, 2);
    EXPECT_EQ(t.said[1].call, 1U);
}

TEST(follower, asks_for_nothing_that_its_algorithm_does_not_use) {
    told t;
    dropin::follower it = t.of("allreduce/recursive_doubling");
    const dropin::directive& how = it.arrive({collective::allreduce, rank(0), 100000}, 0ns);
    EXPECT_EQ(how.segments, 1U);
    EXPECT_EQ(how.round_time, 0ns);
    EXPECT_EQ(t.asked, 0);
    EXPECT_FALSE(t.said.front().root) << "an allreduce has none";
}

TEST(follower, says_once_why_it_is_not_obeyed) {
    told t;
    dropin::follower it = t.of("reduce/chain");
    for (int call = 0; call < 5; ++call) {
        it.arrive({collective::reduce, rank(0), 100000}, 30ms * call);
        if (call > 1) it.refused("no");
        it.leave(30ms * call);
    }
    ASSERT_EQ(t.said.size(), 2U);
    EXPECT_EQ(t.said[1].made, verdict::left);
    EXPECT_EQ(t.said[1].call, 3U);
    EXPECT_EQ(t.said[1].reason, "no");
}

/// Two collectives are forced, each by an algorithm of its own; a third is not.
TEST(follower, forces_an_algorithm_of_each_collective) {
    told t;
    const std::array forced{&find_algorithm("reduce/chain"), &find_algorithm("bcast/binomial")};
    dropin::follower it(
        forced, 3, [] { return model{}; }, [&t](const dropin::decision& d) { t.said.push_back(d); });
    for (const algorithm* const a : forced) EXPECT_EQ(it.arrive({a->what, rank(0), 100000}, 0ns).use, a);
    EXPECT_EQ(it.arrive({collective::allgather, rank(0), 100000}, 0ns).use, nullptr);
    ASSERT_EQ(t.said.size(), 3U);
    EXPECT_EQ(t.said[1].algorithm, "bcast/binomial");
    EXPECT_EQ(t.said[2].made, verdict::left);
}

}  // namespace
}  // namespace rubato::direct_test
