// What directors decide: which calls a plan makes, and when the native collective does.
#include "support/simulated_directors.hpp"

namespace rubato::direct_test {
namespace {

TEST(director, wins_back_the_tail_of_a_late_rank) {
    const program p = late_rank(3);
    const outcome o = directed(p);
    EXPECT_EQ(o.native_calls(30), 0);
    EXPECT_EQ(o.used.back(), "reduce/clairvoyant");
    EXPECT_EQ(last_of(o.directives.back().arrivals), 3U);
    EXPECT_EQ(o.directives.back().segments, 32U);
    EXPECT_EQ(o.decisions(verdict::tried), 1U);
    EXPECT_EQ(o.decisions(verdict::kept), 1U);
    EXPECT_LT(o.total, natively(p) - 27ms * 400);
    EXPECT_GT(o.synchronised, 2);
    EXPECT_LT(o.synchronised, 8);
    const dropin::decision& tried = o.explained.front();
    EXPECT_EQ(tried.made, verdict::tried);
    EXPECT_EQ(tried.algorithm, "reduce/clairvoyant");
    EXPECT_EQ(tried.incumbent, "native");
    EXPECT_EQ(tried.root, 0);
    ASSERT_TRUE(tried.promised && tried.of_incumbent && tried.pattern);
    EXPECT_EQ(tried.promised->tail, 10ms);
    EXPECT_EQ(tried.promised->segments, 32U);
    // Exchanging arrivals takes the ranks some microseconds.
    EXPECT_GE(tried.of_incumbent->tail, 40ms);
    EXPECT_LT(tried.of_incumbent->tail, 41ms);
    EXPECT_EQ(tried.pattern->last, 3);
    EXPECT_FALSE(tried.measured);
}

/// A call that the native collective made before there were directors is the first one that they know, and when they
/// are made all ranks are there: so the plan comes two calls sooner, by the arrivals before ranks met.
TEST(director, begins_with_a_call_seen_before) {
    program p = late_rank(3);
    EXPECT_EQ(directed(p).native_calls(0), 3);
    p.met = 30ms;
    const outcome o = directed(p);
    EXPECT_EQ(o.native_calls(0), 1);
    EXPECT_EQ(last_of(o.directives[1].arrivals), 3U);
    ASSERT_TRUE(o.explained.front().of_incumbent);
    EXPECT_LT(o.explained.front().of_incumbent->tail, 41ms) << "the time to make directors is not the native call's";
    // Of other operations and of calls that failed nothing is learned.
    p.fails = [](std::uint64_t call, int r) { return call == 0 && r == 2; };
    EXPECT_EQ(directed(p).native_calls(0), 3);
    p = late_rank(3);
    p.met = 30ms;
    p.what = [](std::uint64_t call) {
        return dropin::directed_call{collective::reduce, rank(call == 0 ? 1 : 0), 512 << 10};
    };
    EXPECT_EQ(directed(p).native_calls(0), 3);
}

/// A gather's root is late by 220 ms, except at the first call, for which ranks have met. Natively everything comes
/// after that; a plan that begins early has had the time of the delay.
program late_root(time_ns plain, time_ns early_takes) {
    program p;
    p.what = [](std::uint64_t) { return dropin::directed_call{collective::gather, rank(0), 256 << 10}; };
    p.compute = [](std::uint64_t call, int r) { return time_ns(r == 0 && call > 1 ? 240ms : 20ms); };
    p.native_tail = [](std::uint64_t, const arrivals&) { return time_ns(660ms); };
    const auto lateness = [](const arrivals& a) { return std::ranges::max(a) - std::ranges::min(a); };
    p.plans = {{"gather/linear", [=](const arrivals&) { return plain; },
                [=](std::uint64_t, const arrivals&, const arrivals&) { return plain; }},
               {"gather/sorted_linear_sync+early", [=](const arrivals& a) { return 657ms - lateness(a); },
                [=](std::uint64_t, const arrivals&, const arrivals&) { return early_takes; }}};
    return p;
}

/// The native collective is as fast as the model allows without beginning early, so the model can be trusted.
TEST(director, begins_early_soon_where_the_native_collective_confirms_the_model) {
    const outcome o = directed(late_root(650ms, 445ms));
    EXPECT_LT(first_use(o, "gather/sorted_linear_sync+early"), 10);
    EXPECT_EQ(o.used.back(), "gather/sorted_linear_sync+early");
    EXPECT_EQ(o.explained.front().made, verdict::tried);
    ASSERT_TRUE(o.explained.front().promised);
    EXPECT_EQ(o.explained.front().promised->tail, 437ms) << "the first call shows no arrivals";
    // If the model says that the native collective should be faster, the model may be wrong.
    const outcome doubtful = directed(late_root(445ms, 445ms));
    EXPECT_GT(first_use(doubtful, "gather/sorted_linear_sync+early"), 20);
}

TEST(director, works_ahead_only_while_a_plan_does) {
    const outcome kept = directed(late_root(650ms, 445ms));
    EXPECT_FALSE(kept.works_ahead.front());
    EXPECT_TRUE(kept.works_ahead.back());
    const outcome withdrawn = directed(late_root(650ms, 700ms));
    EXPECT_EQ(withdrawn.used.back(), "");
    EXPECT_NE(std::ranges::find(withdrawn.works_ahead, true), withdrawn.works_ahead.end());
    EXPECT_FALSE(withdrawn.works_ahead.back());
}

TEST(director, finds_that_the_native_default_is_a_bad_choice) {
    program p = late_rank(-1);
    p.native_tail = [](std::uint64_t, const arrivals&) { return time_ns(352ms); };
    p.plans = {{"reduce/chain", [](const arrivals&) { return time_ns(100ms); },
                [](std::uint64_t, const arrivals&, const arrivals&) { return time_ns(107ms); }}};
    const outcome o = directed(p);
    EXPECT_EQ(o.native_calls(30), 0);
    EXPECT_LT(o.total, times(natively(p), 0.5));
}

TEST(director, leaves_alone_what_promises_nothing) {
    program p = late_rank(2);
    p.plans.front().promised = [](const arrivals&) { return time_ns(37ms); };
    const outcome o = directed(p);
    EXPECT_EQ(o.native_calls(0), 400);
    EXPECT_LE(o.decisions(verdict::left), 2U) << "at first, and when it knows who is late";
    EXPECT_LT(o.total, times(natively(p), 1.002));

    // And what takes no time to speak of.
    program q = late_rank(2);
    q.native_tail = [](std::uint64_t, const arrivals&) { return time_ns(1ms); };
    q.plans.front().promised = [](const arrivals&) { return time_ns(100us); };
    EXPECT_EQ(directed(q).native_calls(0), 400);
    EXPECT_EQ(directed(q).chosen, 0ms);
}

TEST(director, learns_nothing_from_calls_that_fail) {
    program p = late_rank(3);
    p.calls = 300;  // before it asks again whether the plan is better
    const outcome before = directed(p);
    // The plan's calls take long where they fail on one rank, in its trial.
    const auto first =
        static_cast<std::uint64_t>(std::ranges::find(before.used, "reduce/clairvoyant") - before.used.begin() + 1);
    p.fails = [&](std::uint64_t call, int r) { return call >= first && call < first + 6 && r == 1; };
    p.plans[0].tail = [&](std::uint64_t call, const arrivals&, const arrivals&) {
        return time_ns(p.fails(call, 1) ? 10s : 10ms);
    };
    const outcome plan_fails = directed(p);
    EXPECT_EQ(plan_fails.decisions(verdict::kept), 1U);
    EXPECT_EQ(plan_fails.decisions(verdict::withdrawn), 0U);
    EXPECT_EQ(plan_fails.native_calls(40), 0);
    // Native calls take long where they fail; else no plan promises to be better.
    p.fails = [](std::uint64_t call, int r) { return call <= 6 && r == 1; };
    p.native_tail = [&](std::uint64_t call, const arrivals&) { return time_ns(p.fails(call, 1) ? 10s : 40ms); };
    p.plans[0].promised = [](const arrivals&) { return time_ns(50ms); };
    EXPECT_EQ(directed(p).decisions(verdict::tried), 0U);
}

/// Where ranks do not wait for each other a shorter tail may be worth nothing, and only the pace tells.
TEST(director, looks_at_the_pace_where_ranks_run_ahead) {
    program p;
    p.waits = false;
    p.compute = [](std::uint64_t, int r) { return time_ns(r == 4 ? 60ms : 10ms); };
    p.native_tail = [](std::uint64_t, const arrivals&) { return time_ns(40ms); };
    p.plans = {{"reduce/chain", [](const arrivals&) { return time_ns(5ms); },
                [](std::uint64_t, const arrivals&, const arrivals&) { return time_ns(6ms); }}};
    const outcome o = directed(p);
    EXPECT_EQ(o.decisions(verdict::tried), 0U) << "all but 5 ms of a call are the last rank's computing";
    EXPECT_LE(o.total, times(natively(p), 1.02));

    // The others are far ahead of a root that has too much to do; then it has less.
    program q = p;
    q.compute = [](std::uint64_t, int r) { return time_ns(r == 0 ? 20ms : 10ms); };
    q.plans.front().tail = [](std::uint64_t, const arrivals&, const arrivals&) { return time_ns(20ms); };
    EXPECT_EQ(directed(q).used.back(), "reduce/chain");
    EXPECT_LE(directed(q).total, times(natively(q), 0.75));
}

TEST(director, compares_like_with_like_where_calls_alternate) {
    program p = late_rank(2);
    p.what = [](std::uint64_t call) {
        return dropin::directed_call{collective::reduce, rank(0), call % 2 == 0 ? 300 << 10 : 500 << 10};
    };
    const auto compute = p.compute;
    p.compute = [=](std::uint64_t call, int r) { return compute(call, r) * (call % 2 == 0 ? 1 : 3); };
    p.native_tail = [](std::uint64_t call, const arrivals&) { return time_ns(call % 2 == 0 ? 30ms : 50ms); };
    p.plans.front().tail = [](std::uint64_t call, const arrivals&, const arrivals&) {
        return time_ns(call % 2 == 0 ? 18ms : 30ms);
    };
    const outcome o = directed(p);
    EXPECT_LE(o.native_calls(30), 9) << "but for a trial";
    EXPECT_EQ(o.used.back(), "reduce/clairvoyant");
}

/// A collective that ends sooner but keeps ranks from their work is none the better.
TEST(director, minds_what_a_plan_costs_elsewhere) {
    program p = late_rank(2);
    p.plans.front().drag = 60ms;
    const outcome o = directed(p);
    EXPECT_EQ(o.decisions(verdict::kept), 0U);
    EXPECT_GE(o.decisions(verdict::withdrawn), 1U);
    EXPECT_LE(o.total, allowed(p, 100ms));
}

/// Ranks that are at different calls, each in a thread, decide alike and never wait in vain.
TEST(director, decides_alike_whoever_is_ahead) {
    constexpr int ranks = 5;
    constexpr std::size_t calls = 500;
    std::size_t tried = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::vector<time_ns> clocks(ranks);
        directors all(ranks, clocks, [&](int) {
            return [&](const problem& q, std::int64_t bytes, const simulator::call_loop*) {
                std::vector<candidate> found;
                for (const algorithm& a : algorithms()) {
                    if (a.what != q.what || found.size() == 5) continue;
                    candidate c;
                    c.use = &a;
                    c.end = std::ranges::max(q.arrivals) + times(1ms, chance(seed, found.size(), 9));
                    c.segment = bytes / 7;
                    found.push_back(c);
                }
                return found;
            };
        });
        const std::array kinds{dropin::directed_call{collective::reduce, rank(0), 100000},
                               dropin::directed_call{collective::bcast, rank(1), 70000},
                               dropin::directed_call{collective::allreduce, rank(0), 1 << 20}};
        std::vector<std::vector<dropin::directive>> said(ranks);
        std::vector<std::thread> threads;
        for (int r = 0; r < ranks; ++r)
            threads.emplace_back([&, r] {
                const auto me = static_cast<std::uint64_t>(r);
                for (std::size_t i = 0; i < calls; ++i) {
                    clocks[me] += times(2ms, chance(seed, i, me));
                    if (chance(seed, i, 10 + me) < 0.1) std::this_thread::yield();
                    const dropin::directed_call& c = kinds[chance(seed, i, 1) < 0.6   ? 0
                                                           : chance(seed, i, 2) < 0.5 ? 1
                                                                                      : 2];
                    said[me].push_back(all[r].arrive(c, clocks[me]));
                    clocks[me] += times(4ms, chance(seed, i, 20 + me));
                    all[r].leave(clocks[me]);
                }
            });
        for (std::thread& t : threads) t.join();
        for (std::size_t i = 0; i < calls; ++i)
            for (const std::vector<dropin::directive>& of : said) EXPECT_TRUE(alike(of[i], said[0][i])) << "call " << i;
        for (const std::vector<dropin::decision>& e : all.explained()) EXPECT_EQ(e, all.explained().front());
        tried += all.explained().front().size();
    }
    EXPECT_GT(tried, 40U);
}

}  // namespace
}  // namespace rubato::direct_test
