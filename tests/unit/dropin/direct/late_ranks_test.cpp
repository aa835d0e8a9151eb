// Who is late: it changes, or cannot be foreseen.
#include "support/simulated_loops.hpp"

namespace rubato::direct_test {
namespace {

TEST(director, follows_a_straggler_that_changes) {
    program p = late_rank(3);
    const auto before = p.compute;
    const auto after = late_rank(1).compute;
    p.compute = [=](std::uint64_t call, int r) { return call <= 200 ? before(call, r) : after(call, r); };
    const outcome o = directed(p);
    EXPECT_EQ(last_of(o.directives[199].arrivals), 3U);
    EXPECT_EQ(last_of(o.directives.back().arrivals), 1U);
    EXPECT_EQ(o.used.back(), "reduce/clairvoyant");
    EXPECT_LT(o.total, natively(p) - 22ms * 400);
}

/// Every `period` calls another rank is late.
program moving_straggler(std::uint64_t period) {
    program p = late_rank(0);
    p.compute = [=](std::uint64_t call, int r) {
        const bool late = (call / period) % 5 == static_cast<std::uint64_t>(r);
        return times(late ? 150ms : 100ms, 1 + 0.02 * (chance(1, call, static_cast<std::uint64_t>(r)) - 0.5));
    };
    p.what = [](std::uint64_t) { return dropin::directed_call{collective::allreduce, rank(0), 512 << 10}; };
    p.plans.front().id = "allreduce/clairvoyant";
    return p;
}

TEST(director, knows_a_new_straggler_within_two_calls) {
    for (const std::uint64_t period : {10U, 25U}) {
        const program p = moving_straggler(period);
        const outcome o = directed(p);
        std::size_t wrong = 0;
        for (std::uint64_t call = 60; call < p.calls; ++call) {
            ASSERT_EQ(o.used[call - 1], "allreduce/clairvoyant") << call;
            wrong += last_of(o.directives[call - 1].arrivals) == (call / period) % 5 ? 0U : 1U;
        }
        EXPECT_LE(wrong, (p.calls - 60) / period + 2) << "one call for each change";
    }
}

/// The straggler moves with every call: a plan for the last one would always be wrong.
TEST(director, does_not_run_after_what_cannot_be_foreseen) {
    program p = moving_straggler(1);
    p.calls = 200;
    const outcome o = directed(p);
    EXPECT_LE(o.total, times(natively(p), 1.02) + 500ms);
}

/// Then roll is called, and stays if it is worth it.
TEST(director, calls_roll_where_nobody_can_foresee_who_is_late) {
    const auto rolled = [](const outcome& o) {
        return std::ranges::count_if(o.directives, [](const dropin::directive& d) { return d.roll_call.has_value(); });
    };
    program p = moving_straggler(1);
    p.calls = 1000;
    const auto compute = p.compute;
    p.compute = [=](std::uint64_t call, int r) { return compute(base::splitmix(call).below(1000), r); };
    const outcome o = directed(p);
    ASSERT_TRUE(o.directives.back().roll_call);
    EXPECT_EQ(o.used.back(), "allreduce/clairvoyant");
    EXPECT_GT(rolled(o), 950) << "roll is called as soon as the first plan is kept";

    // Where the same rank is always late, or all are in time, it is predicted.
    EXPECT_EQ(rolled(directed(late_rank(3))), 0);
    EXPECT_EQ(rolled(directed(moving_straggler(25))), 0);
}

/// For other latecomers another plan may be better, even if the old one is still good.
TEST(director, chooses_again_when_others_come_late) {
    program p = late_rank(3);
    const auto before = p.compute;
    const auto after = late_rank(1).compute;
    p.compute = [=](std::uint64_t call, int r) { return call <= 150 ? before(call, r) : after(call, r); };
    const auto good_for = [](std::string_view id, std::size_t late, time_ns otherwise) {
        return plan_tale{id, [=](const arrivals& a) { return last_of(a) == late ? time_ns(10ms) : otherwise; },
                         [=](std::uint64_t, const arrivals&, const arrivals& real) {
                             return last_of(real) == late ? time_ns(10ms) : otherwise;
                         }};
    };
    p.plans = {good_for("reduce/chain", 3, 18ms), good_for("reduce/binary", 1, 30ms)};
    const outcome o = directed(p);
    EXPECT_EQ(o.used[149], "reduce/chain");
    EXPECT_EQ(o.used.back(), "reduce/binary");
    EXPECT_LT(o.total, natively(p) - 24ms * 400);
}

/// A gatherv or scatterv on a slow network. Natively the root serves ranks in their order and, if messages wait for
/// their receiver, all ranks after a late one wait with it.
loop in_the_order_of_ranks(collective what, int late, bool waits) {
    loop l;
    l.calls = 60;
    l.meets = true;  // else the others could wait in the next call as well
    l.chunk = 128 << 10;
    l.network = parse_model(waits ? "loggp:L=100us,o=10us,g=10us,G=160ns,rendezvous=64KiB"
                                  : "loggp:L=100us,o=10us,g=10us,G=160ns");
    l.compute = [=](std::uint64_t, int r) { return r == late ? time_ns(600ms) : time_ns(20ms); };
    l.what = {what, rank(0), 0, 16 * l.chunk};
    l.native = what == collective::gatherv ? "gatherv/linear" : "scatterv/linear";
    return l;
}

TEST(director, finds_a_plan_where_ranks_wait_for_a_late_one) {
    for (const collective what : {collective::gatherv, collective::scatterv}) {
        for (const int late : {1, 3, 15}) {
            // A response takes messages in their order, so it says nothing of a root that takes them as they come.
            if (what == collective::scatterv) {
                const outcome nobody_waits = directed(in_the_order_of_ranks(what, late, false));
                EXPECT_EQ(nobody_waits.native_calls(0), 60) << "there is nothing to win";
            }
            const outcome o = directed(in_the_order_of_ranks(what, late, true));
            EXPECT_EQ(o.native_calls(10), late == 15 ? 50 : 0) << traits(what).name << ", " << late;
        }
    }
}

}  // namespace
}  // namespace rubato::direct_test
