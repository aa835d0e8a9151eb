// What is known of other operations, or of an earlier run, is where directors begin.
#include "support/simulated_directors.hpp"

namespace rubato::direct_test {
namespace {

TEST(director, carries_over_what_it_knows_of_other_roots_and_sizes) {
    program p = late_rank(3);
    p.what = [](std::uint64_t call) {
        return dropin::directed_call{collective::reduce, rank(static_cast<std::int32_t>(call / 40 % 5)),
                                     call < 200 ? 512 << 10 : 300 << 10};
    };
    const outcome o = directed(p);
    EXPECT_EQ(o.native_calls(30), 0) << "no root begins from nothing";
    EXPECT_LT(o.total, natively(p) - 27ms * 400);
}

TEST(director, carries_over_a_plan_that_is_ahead_on_trial) {
    program p = late_rank(3);
    p.what = [](std::uint64_t call) {
        return dropin::directed_call{collective::reduce, rank(call < 11 ? 0 : 1), 512 << 10};
    };
    const outcome o = directed(p);
    EXPECT_EQ(o.explained.front().made, verdict::tried);
    EXPECT_GT(o.explained.front().call + dropin::trial_calls, 11U) << "the trial is over";
    EXPECT_EQ(o.native_calls(10), 0);
}

TEST(director, begins_with_what_it_remembers) {
    program p = late_rank(3);
    p.remembered = directed(p).learned;
    ASSERT_EQ(p.remembered.size(), 1U);
    EXPECT_EQ(p.remembered.front().algorithm, "reduce/clairvoyant");
    EXPECT_EQ(last_of(p.remembered.front().arrivals), 3U);
    const outcome again = directed(p);
    EXPECT_EQ(again.native_calls(0), 0);
    EXPECT_LT(again.total, natively(p) - 29ms * 400);
    EXPECT_EQ(again.learned.front().algorithm, "reduce/clairvoyant");
}

TEST(director, uses_nothing_that_it_remembers_whose_ranks_may_round_differently) {
    program p = late_rank(3);
    p.what = [](std::uint64_t) { return dropin::directed_call{collective::allreduce, rank(0), 512 << 10}; };
    dropin::experience e = directed(late_rank(3)).learned.front();
    e.kind = simulator::operation_of(collective::allreduce, rank(0), 512 << 10);
    for (const char* id : {"allreduce/dissemination", "allreduce/ring"}) {
        // Only what is remembered speaks for it.
        p.plans = {{id, [](const arrivals&) { return time_ns(1s); },
                    [](std::uint64_t, const arrivals&, const arrivals&) { return time_ns(1ms); }}};
        e.algorithm = id;
        p.remembered = {e};
        EXPECT_EQ(directed(p).native_calls(0) == 400, !find_algorithm(id).same_bits) << id;
    }
}

TEST(director, gives_up_what_it_remembers_wrongly) {
    program p = late_rank(3);
    p.remembered = directed(p).learned;
    p.plans.front().tail = [](std::uint64_t, const arrivals&, const arrivals&) { return time_ns(60ms); };
    p.plans.front().promised = [](const arrivals&) { return time_ns(50ms); };
    const outcome slow = directed(p);
    EXPECT_GE(slow.native_calls(10), 380);
    EXPECT_LE(slow.total, times(natively(p), 1.01));
    EXPECT_EQ(slow.learned.front().algorithm, "");
    EXPECT_EQ(slow.doubted, 0) << "native calls are as fast as before";

    // Another rank is late: the plan follows.
    program q = late_rank(1);
    q.remembered = directed(late_rank(3)).learned;
    const outcome moved = directed(q);
    EXPECT_EQ(last_of(moved.directives[24].arrivals), 1U);
    EXPECT_LT(moved.total, natively(q) - 28ms * 400);
    EXPECT_EQ(moved.doubted, 0);

    // What was found for a quarter of the size does not scale: that says nothing of the network.
    program larger = late_rank(3);
    larger.remembered = directed(late_rank(3)).learned;
    larger.what = [](std::uint64_t) { return dropin::directed_call{collective::reduce, rank(0), 2 << 20}; };
    EXPECT_EQ(directed(larger).doubted, 0);

    // All is four times as slow: the network is another one.
    program slower = late_rank(3);
    slower.remembered = directed(slower).learned;
    slower.native_tail = [](std::uint64_t, const arrivals&) { return time_ns(160ms); };
    slower.plans.front().tail = [](std::uint64_t, const arrivals&, const arrivals&) { return time_ns(40ms); };
    slower.plans.front().promised = [](const arrivals&) { return time_ns(40ms); };
    const outcome other = directed(slower);
    EXPECT_EQ(other.doubted, 1);
    EXPECT_LT(other.total, natively(slower) - 100ms * 400);
}

}  // namespace
}  // namespace rubato::direct_test
