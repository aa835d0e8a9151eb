// What the program gains, where nothing brings ranks together between calls.
#include "support/simulated_loops.hpp"

namespace rubato::direct_test {
namespace {

/// Of a training job: one or two ranks are late by 300 to 800 ms, others in each call. Plans that make ranks wait for
/// each other take the sum of these delays; a chain takes the longest sum of one rank's.
loop training() {
    loop l;
    l.compute = recorded("training-32.txt", l.ranks);
    return l;
}

TEST(director, lets_ranks_run_ahead_where_that_is_best_for_the_program) {
    const loop l = training();
    const time_ns native = played(l, l.native);
    const time_ns tuned = std::min(played(l, "reduce/chain", 8 << 10), played(l, "reduce/binary", 16 << 10));
    ASSERT_GT(native, 2 * tuned) << "there is something to win";
    const outcome first = directed(l);
    EXPECT_LE(first.native_calls(0), 4);
    EXPECT_LT(first.total, times(tuned, 1.1));
    const outcome again = directed(l, first.learned);
    EXPECT_EQ(again.native_calls(0), 0);
    EXPECT_LT(again.total, times(tuned, 1.02));
}

/// Then nobody can be ahead, and the plan with the shortest tail is the best one.
TEST(director, knows_whether_ranks_meet_between_calls) {
    loop l = training();
    l.meets = true;
    const time_ns native = played(l, l.native);
    const outcome o = directed(l);
    EXPECT_LT(o.total, native);
    EXPECT_LE(o.total, times(std::min(played(l, "reduce/chain", 8 << 10), played(l, "reduce/binary", 16 << 10)), 1.1));
}

/// Two ranks on each host, one of them late, another one every 25 calls.
TEST(director, knows_that_ranks_share_a_host) {
    loop l;
    l.calls = 100;
    l.hosts = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7};
    l.what.what = collective::allreduce;
    l.native = "allreduce/recursive_doubling";
    l.compute = [](std::uint64_t call, int r) {
        return r == static_cast<int>(call / 25 * 7 % 16) ? time_ns(140ms) : time_ns(20ms);
    };
    const outcome o = directed(l);
    EXPECT_EQ(o.used.back(), "allreduce/two_level");
    EXPECT_LT(o.total, times(played(l, "allreduce/ring"), 0.95));
    EXPECT_LT(o.total, times(played(l, l.native), 0.5));
}

}  // namespace
}  // namespace rubato::direct_test
