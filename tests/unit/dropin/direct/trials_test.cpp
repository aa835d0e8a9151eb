// Plans on trial: which one is tried next, and which is withdrawn, at once or later.
#include "support/simulated_directors.hpp"

namespace rubato::direct_test {
namespace {

TEST(director, withdraws_what_breaks_its_promise) {
    for (const time_ns real : {39ms, 42ms, 70ms, 400ms}) {
        for (const std::uint64_t calls : {200U, 2000U}) {
            program p = late_rank(1);
            p.calls = calls;
            p.plans.clear();
            for (const std::string_view id : {"reduce/clairvoyant", "reduce/chain", "reduce/binary", "reduce/ring"})
                p.plans.push_back({id, [](const arrivals&) { return time_ns(10ms); },
                                   [real](std::uint64_t, const arrivals&, const arrivals&) { return real; }});
            const outcome o = directed(p);
            EXPECT_EQ(o.decisions(verdict::kept), 0U);
            EXPECT_GE(o.decisions(verdict::withdrawn), 1U);
            // Where predictions are far off, the next are not believed either.
            EXPECT_LE(o.decisions(verdict::withdrawn), real >= 400ms ? 2U : 10U);
            EXPECT_LE(o.total, allowed(p, real)) << format_time(real) << ", " << calls << " calls";
        }
    }
}

TEST(director, takes_the_next_where_the_best_one_fails) {
    program p = late_rank(1);
    p.plans = {{"reduce/clairvoyant", [](const arrivals&) { return time_ns(10ms); },
                [](std::uint64_t, const arrivals&, const arrivals&) { return time_ns(90ms); }},
               {"reduce/chain", [](const arrivals&) { return time_ns(12ms); },
                [](std::uint64_t, const arrivals&, const arrivals&) { return time_ns(15ms); }}};
    const outcome o = directed(p);
    EXPECT_EQ(o.used.back(), "reduce/chain");
    EXPECT_LT(o.total, natively(p));
}

TEST(director, tries_the_next_where_the_best_one_disappoints) {
    program p = late_rank(1);
    const auto plan = [](std::string_view id, time_ns promised, time_ns real) {
        return plan_tale{id, [=](const arrivals&) { return promised; },
                         [=](std::uint64_t, const arrivals&, const arrivals&) { return real; }};
    };
    p.plans = {plan("reduce/clairvoyant", 10ms, 13ms), plan("reduce/chain", 11ms, 13ms),
               plan("reduce/two_tree", 11ms, 11ms)};
    const outcome o = directed(p);
    EXPECT_EQ(o.native_calls(30), 0);
    EXPECT_EQ(o.used.back(), "reduce/two_tree");
    EXPECT_EQ(o.decisions(verdict::tried), 3U);

    // But one that keeps its promise stays.
    p.plans.front() = plan("reduce/clairvoyant", 10ms, 11ms);
    EXPECT_EQ(directed(p).decisions(verdict::tried), 1U);
}

/// Good as long as it is watched.
TEST(director, finds_out_who_becomes_slow_once_kept) {
    for (const int good : {9, 30, 100}) {
        program p = late_rank(1);
        p.calls = 3000;
        auto made = std::make_shared<int>(0);
        auto last = std::make_shared<std::uint64_t>(0);
        p.plans.front().tail = [=](std::uint64_t call, const arrivals&, const arrivals&) {
            *made = call == *last + 1 ? *made + 1 : 1;
            *last = call;
            return time_ns(*made <= good ? 10ms : 60ms);
        };
        const outcome o = directed(p);
        EXPECT_GE(o.decisions(verdict::withdrawn), 1U);
        EXPECT_LE(o.total, times(natively(p), 1.02) + 3 * 60 * 20ms) << good;
    }
}

TEST(director, goes_back_when_the_native_collective_becomes_better) {
    program p = late_rank(3);
    p.calls = 1000;
    p.native_tail = [](std::uint64_t call, const arrivals&) { return time_ns(call <= 300 ? 40ms : 5ms); };
    p.plans.front().tail = [](std::uint64_t call, const arrivals&, const arrivals&) {
        return time_ns(call <= 300 ? 10ms : 45ms);
    };
    const outcome o = directed(p);
    EXPECT_EQ(o.used[299], "reduce/clairvoyant");
    EXPECT_EQ(o.used.back(), "");
    EXPECT_LE(o.total, times(natively(p), 1.02));
}

/// A gain that is too small to be sure of is asked about again, as that costs little.
TEST(director, checks_small_gains_again) {
    program p = late_rank(3);
    p.calls = 2000;
    p.plans.front().promised = [](const arrivals&) { return time_ns(20ms); };
    p.plans.front().tail = [](std::uint64_t, const arrivals&, const arrivals&) { return time_ns(36ms); };
    // Natively as slow only at first.
    p.native_tail = [](std::uint64_t call, const arrivals&) { return time_ns(call < 100 ? 40ms : 30ms); };
    const outcome o = directed(p);
    EXPECT_EQ(o.used[50], "reduce/clairvoyant");
    EXPECT_EQ(o.used.back(), "");
    EXPECT_LE(o.total, times(natively(p), 1.02));
}

}  // namespace
}  // namespace rubato::direct_test
