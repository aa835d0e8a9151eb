// What directing costs, and that it stays within what may be spent.
#include "support/simulated_directors.hpp"

namespace rubato::direct_test {
namespace {

/// One communicator after the other, each with its directors.
TEST(director, counts_what_was_spent_on_other_communicators) {
    program p = late_rank(1);
    p.calls = 120;
    p.plans.clear();
    for (const std::string_view id : {"reduce/clairvoyant", "reduce/chain", "reduce/binary"})
        p.plans.push_back({id, [](const arrivals&) { return time_ns(10ms); },
                           [](std::uint64_t, const arrivals&, const arrivals&) { return time_ns(75ms); }});
    std::deque<dropin::directing_cost> processes(static_cast<std::size_t>(p.ranks));
    time_ns now{};
    constexpr int communicators = 60;
    for (int i = 0; i < communicators; ++i) now = directed(p, &processes, now).total;
    const time_ns native = communicators * natively(p);
    EXPECT_GT(processes.front().free_trials, 3);
    EXPECT_LE(now, times(native, 1.02) + 24 * 9 * 35ms);
    EXPECT_GT(directed(p).total - natively(p), (now - native) / communicators);
}

TEST(director, keeps_its_promise_whatever_happens) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const double jitter = 0.4 * chance(seed, 0, 1);
        program p = late_rank(static_cast<int>(seed % 7) - 1, jitter, seed);
        p.calls = 300 + seed * 20;
        const double wobble = chance(seed, 0, 2);
        p.native_tail = [=](std::uint64_t call, const arrivals&) {
            return times(40ms, 1 + wobble * (chance(seed, call, 77) - 0.5));
        };
        p.plans.clear();
        std::uint64_t n = 0;
        for (const std::string_view id : {"reduce/clairvoyant", "reduce/chain", "reduce/binary"}) {
            ++n;
            const time_ns promised = times(40ms, 0.9 * chance(seed, n, 3));
            const time_ns real = times(80ms, chance(seed, n, 4));
            const bool drifts = chance(seed, n, 5) < 0.3;
            p.plans.push_back({id, [=](const arrivals&) { return promised; },
                               [=](std::uint64_t call, const arrivals&, const arrivals&) {
                                   const double drift = drifts ? static_cast<double>(call) / 500. : 1;
                                   return times(real, drift * (1 + wobble * (chance(seed, call, 80 + n) - 0.5)));
                               }});
        }
        const outcome o = directed(p);
        EXPECT_LE(o.total, allowed(p, 160ms)) << "seed " << seed << ", natively " << format_time(natively(p));
    }
}

TEST(director, spends_little_on_choosing) {
    program p = late_rank(2);
    p.ranks = 20;
    p.calls = 3000;
    p.choosing = 100ms;
    p.compute = [](std::uint64_t, int) { return time_ns(200us); };
    p.native_tail = [](std::uint64_t, const arrivals&) { return time_ns(800us); };
    p.what = [](std::uint64_t call) {
        return dropin::directed_call{collective::reduce, rank(static_cast<std::int32_t>(call % 20)), 64 << 10};
    };
    p.plans.front().promised = [](const arrivals&) { return time_ns(790us); };
    const outcome o = directed(p);
    EXPECT_GT(o.chosen, 0ms);
    EXPECT_LE(o.chosen, 300ms + natively(p) / 100);
    EXPECT_LE(o.total, times(natively(p), 1.02) + 400ms);
}

/// Nobody is late, so all wait while the network is measured for the first choice. The second one has to wait for that.
TEST(director, counts_the_time_in_which_the_network_is_measured) {
    program p = late_rank(0);
    p.compute = [](std::uint64_t, int) { return time_ns(100ms); };
    p.plans.front().tail = [](std::uint64_t, const arrivals&, const arrivals&) { return time_ns(10ms); };
    p.what = [](std::uint64_t call) {
        return dropin::directed_call{call < 20 || call % 2 == 0 ? collective::reduce : collective::allreduce, rank(0),
                                     512 << 10};
    };
    p.choosing = 0ms;
    const auto second_tried = [&] {
        const outcome o = directed(p);
        EXPECT_EQ(o.decisions(verdict::tried), 2U);
        return std::find_if(o.explained.rbegin(), o.explained.rend(),
                            [](const dropin::decision& d) { return d.made == verdict::tried; })
            ->call;
    };
    EXPECT_LT(second_tried(), 8U);
    p.measuring = 200ms;  // 1 % of 20 s, in which the second is called some 80 times
    EXPECT_GT(second_tried(), 60U);
}

/// Time between calls buys nothing there. A choice takes 20 ms, which is 1 % of 50 calls, and a trial may cost nine
/// times half a call.
TEST(director, pays_by_the_time_in_calls_on_one_host) {
    program p = late_rank(3);
    p.compute = [](std::uint64_t, int) { return time_ns(1s); };
    p.calls = 2000;
    p.between_hosts = false;
    const outcome o = directed(p);
    const std::ptrdiff_t first = first_use(o, "reduce/clairvoyant");
    EXPECT_GT(first, 500);
    EXPECT_LT(first, 700);
    EXPECT_EQ(o.used.back(), "reduce/clairvoyant");
    p.between_hosts = true;
    EXPECT_LT(first_use(directed(p), "reduce/clairvoyant"), 10);
}

/// The first to come chooses: it would wait anyway.
TEST(director, lets_choose_who_has_time) {
    program p = late_rank(2, 0);
    p.ranks = 4;
    const auto compute = p.compute;
    p.compute = [=](std::uint64_t call, int r) { return compute(call, r) - (r == 1 ? 40ms : 0ms); };
    p.choosing = 80ms;
    p.plans.front().promised = [](const arrivals&) { return time_ns(39ms); };
    EXPECT_LT(directed(p).total, natively(p) + 20ms);
}

}  // namespace
}  // namespace rubato::direct_test
