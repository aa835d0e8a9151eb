// What is said of programs whose ranks are late in ways that are known.
#include "reports/report/diagnosis.hpp"

#include "base/core/splitmix.hpp"
#include "base/statistics/statistics.hpp"
#include "dropin/observe/observation.hpp"
#include "reports/report/compare_runs.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <numeric>

namespace rubato::reports {
namespace {

using namespace std::chrono_literals;
using arrivals_of = std::function<arrival_times(std::uint64_t number)>;

constexpr std::int32_t ranks = 8;
constexpr std::uint64_t calls = 200;
constexpr time_ns period = 10ms;  ///< of a call and what is computed before it, if nobody is late

/// A program that computes and then calls allreduce, again and again.
struct program {
    arrivals_of arrivals{};
    time_ns tail = 20us;
    std::int64_t bytes = 8;
    std::string model{};
    bool late_before = false;  ///< it is late already when it leaves the call before
};

dropin::invocation call(const program& p, std::uint64_t number) {
    dropin::invocation made{number, p.arrivals(number), {}, {}};
    const auto [first, last] = std::ranges::minmax(made.arrivals);
    for (time_ns& t : made.arrivals) {
        t -= first;
        made.exits.push_back(last - first + p.tail);
        made.outside.push_back(p.late_before ? period : period + t);
    }
    return made;
}

observed run(const program& p) {
    dropin::observation o;
    o.program = "stencil";
    o.ranks = ranks;
    o.parts = ranks;
    for (std::int32_t r = 0; r < ranks; ++r) o.hosts.emplace_back(r < ranks / 2 ? "a" : "b");
    o.communicators.push_back({});
    for (std::int32_t r = 0; r < ranks; ++r)
        o.communicators[0].members.push_back(ranks - 1 - r);  // not those of the world
    o.sites.push_back({"/nonexistent/stencil", 0x10, "solve"});
    o.begun = {1, "./stencil 100"};
    dropin::row r;
    r.what = collective::allreduce;
    r.calls = calls;
    r.callers = ranks;
    r.bytes = p.bytes;
    std::vector<dropin::invocation> met;
    double waited = 0;
    for (std::uint64_t k = 0; k < calls; ++k) {
        met.push_back(call(p, 2 * k));
        const time_ns last = std::ranges::max(met.back().arrivals);
        o.duration += period + last + p.tail;
        for (const time_ns t : met.back().arrivals) {
            r.time += last - t + p.tail;
            waited += static_cast<double>((last - t).count());
        }
    }
    r.seen = dropin::describe(met, calls);
    r.seen->waiting = waited / static_cast<double>(r.time.count());
    o.rows.push_back(r);
    o.model = p.model;
    observed seen = look_at(o, "x.rubato");
    examine_row(seen, 0);
    return seen;
}

std::string words(const observed& o, const finding& f) { return fmt::format("{}", fmt::join(sentences(o, f), " ")); }

/// Up to 40 us, of any rank.
arrival_times jitter(std::uint64_t number) {
    base::splitmix random(number + 1);
    arrival_times out(ranks);
    for (time_ns& t : out) t = time_ns(static_cast<std::int64_t>(random.below(40'000)));
    return out;
}
arrivals_of late_by(time_ns by, const std::function<std::vector<std::int32_t>(std::uint64_t)>& who) {
    return [=](std::uint64_t number) {
        arrival_times out = jitter(number);
        for (const std::int32_t r : who(number)) out[static_cast<std::size_t>(r)] += by;
        return out;
    };
}
double share(time_ns t, time_ns of) { return static_cast<double>(t.count()) / static_cast<double>(of.count()); }

TEST(diagnosis, one_slow_rank) {
    const observed o = run({late_by(5ms, [](auto) { return std::vector{2}; })});
    const diagnosis d = diagnose(o);
    ASSERT_FALSE(d.findings.empty());
    const finding& f = d.findings[0];
    EXPECT_EQ(f.why, cause::rank);
    EXPECT_EQ(f.ranks, std::vector{ranks - 1 - 2}) << "in the world";
    EXPECT_NEAR(share(f.gain, calls * 5ms), 1, 0.02);
    EXPECT_NEAR(f.share_of_run, 5. / 15 * 7 / 8, 0.01);
    const std::string text = words(o, f);
    EXPECT_NE(text.find("Last is rank 5 on b: at 100 % of the"), std::string::npos) << text;
    EXPECT_NE(text.find("where chance would make it 12 %"), std::string::npos) << text;
    EXPECT_NE(text.find("outside collectives"), std::string::npos) << text;
    EXPECT_EQ(next_step(o, f).command,
              "mpirun -n 5 ./stencil 100 : -n 1 perf record -o rank5.data ./stencil 100 : -n 2 ./stencil 100");
    EXPECT_NE(headline(o, d).find("29 % of the run is waiting for late ranks"), std::string::npos) << headline(o, d);
}

/// Each of 25 places would save 2 % of the run.
TEST(diagnosis, one_slow_rank_at_many_places) {
    observed o = run({late_by(5ms, [](auto) { return std::vector{2}; })});
    constexpr int places = 25;
    o.from.duration *= places * 2;
    for (int i = 1; i < places; ++i) {
        o.from.rows.push_back(o.from.rows[0]);
        o.examined_rows.push_back(o.examined_rows[0]);
    }
    const diagnosis d = diagnose(o);
    ASSERT_EQ(d.findings.size(), std::size_t{places});
    for (const finding& f : d.findings) EXPECT_EQ(f.why, cause::rank);
    EXPECT_LT(share(d.findings[0].gain, o.from.duration), worth_mending);
    EXPECT_EQ(d.findings[0].places, std::size_t{places});
    EXPECT_EQ(d.findings[0].gain_at_all, places * d.findings[0].gain);
    EXPECT_NE(words(o, d.findings[0]).find("With 24 other places of the same cause: "), std::string::npos);
    EXPECT_EQ(d.findings[1].places, 1U) << "it was said";
    EXPECT_TRUE(said_before(d, d.findings[1]));
    EXPECT_EQ(headline(o, d).find("Nothing is worth mending"), std::string::npos);
    o.from.duration *= 50;
    EXPECT_EQ(diagnose(o).findings[0].why, cause::none) << "all of them save 1 %";
}

TEST(diagnosis, a_rank_that_is_late_at_every_second_call) {
    const observed o =
        run({late_by(5ms, [](std::uint64_t n) { return n % 4 == 0 ? std::vector{2} : std::vector<int>{}; })});
    const finding f = diagnose(o).findings.at(0);
    EXPECT_EQ(f.why, cause::rank) << "it makes most of the waiting";
    EXPECT_EQ(f.ranks, std::vector{5});
    EXPECT_NEAR(share(f.gain, calls / 2 * 5ms), 1, 0.1);
}

TEST(diagnosis, lateness_that_an_earlier_collective_makes) {
    program p{late_by(5ms, [](auto) { return std::vector{2}; })};
    p.late_before = true;
    const observed o = run(p);
    const std::string text = words(o, diagnose(o).findings.at(0));
    EXPECT_NE(text.find("an earlier collective"), std::string::npos) << text;

    observed both = o;
    dropin::row before = both.from.rows[0];
    before.what = collective::barrier;
    for (dropin::brief& b : before.seen->all) b.number = b.number == 0 ? 0 : b.number - 1;
    both.from.rows.push_back(before);
    both.examined_rows.push_back(o.examined_rows[0]);
    const std::string named = words(both, diagnose(both).findings.at(0));
    EXPECT_NE(named.find("in the collective before, barrier at solve"), std::string::npos) << named;
}

TEST(diagnosis, a_slow_host) {
    const observed o = run({late_by(4ms, [](auto) { return std::vector{0, 1, 2, 3}; })});
    const finding f = diagnose(o).findings.at(0);
    EXPECT_EQ(f.why, cause::host);
    EXPECT_EQ(f.ranks.size(), 4U);
    EXPECT_NE(words(o, f).find("A whole host is late, ranks 4 to 7 on b"), std::string::npos) << words(o, f);
    EXPECT_NEAR(share(f.gain, calls * 4ms), 1, 0.02);
    EXPECT_EQ(next_step(o, f).command, "ssh b top -b -n 1");
}

TEST(diagnosis, neighbours_that_are_no_host) {
    const observed o = run({late_by(4ms, [](auto) { return std::vector{3, 4}; })});
    const finding f = diagnose(o).findings.at(0);
    EXPECT_EQ(f.why, cause::rank);
    EXPECT_EQ(f.ranks, (std::vector{4, 3}));
    EXPECT_NE(words(o, f).find("Last are ranks 3, 4 on 2 hosts"), std::string::npos) << words(o, f);
}

TEST(diagnosis, ranks_that_take_turns) {
    const observed o =
        run({late_by(5ms, [](std::uint64_t n) { return std::vector{static_cast<std::int32_t>(n / 2 % ranks)}; })});
    const finding f = diagnose(o).findings.at(0);
    EXPECT_EQ(f.why, cause::rotating);
    EXPECT_EQ(f.ranks.size(), std::size_t{ranks});
    EXPECT_EQ(o.examined_rows[0].late.period, 2U * ranks) << "every second call of the communicator is from elsewhere";
    EXPECT_NEAR(share(f.gain, calls * 5ms), 1, 0.02);
    EXPECT_NE(words(o, f).find("Ranks take turns to be late"), std::string::npos) << words(o, f);
}

TEST(diagnosis, one_rank_after_the_other_for_a_while) {
    const observed o =
        run({late_by(5ms, [](std::uint64_t n) { return std::vector{static_cast<std::int32_t>(n / 50 % ranks)}; })});
    const finding f = diagnose(o).findings.at(0);
    EXPECT_EQ(f.why, cause::rotating);
    EXPECT_EQ(o.examined_rows[0].late.period, 1U);
}

TEST(diagnosis, chance) {
    const observed o = run({late_by(
        5ms, [](std::uint64_t n) { return std::vector{static_cast<std::int32_t>(base::splitmix(n).below(ranks))}; })});
    const finding f = diagnose(o).findings.at(0);
    EXPECT_EQ(f.why, cause::chance);
    EXPECT_TRUE(f.ranks.empty());
    EXPECT_GT(o.examined_rows[0].late.p, 0.01) << "all are last equally often";
    EXPECT_NE(words(o, f).find("chi-square"), std::string::npos) << words(o, f);
}

TEST(diagnosis, nothing) {
    const observed o = run({jitter});
    const diagnosis d = diagnose(o);
    EXPECT_EQ(d.findings.at(0).why, cause::none);
    EXPECT_NE(headline(o, d).find("Nothing is worth mending"), std::string::npos);
}

TEST(diagnosis, a_slow_network_and_a_slow_collective) {
    program p{jitter};
    p.bytes = 1 << 20;
    p.model = "hockney:alpha=10us,beta=1ns,gamma=0";
    p.tail = 3ms;
    observed o = run(p);
    ASSERT_NE(o.examined_rows[0].best_plan(), nullptr);
    const time_ns best = o.examined_rows[0].best_plan()->tail;
    EXPECT_GT(best, 1ms) << "a vector at 1 ns per byte";
    p.tail = best + best / 10;
    o = run(p);
    diagnosis d = diagnose(o);
    EXPECT_EQ(d.findings.at(0).why, cause::network);
    EXPECT_LT(std::abs(o.examined_rows[0].error), 0.15) << o.examined_rows[0].ran;
    EXPECT_NEAR(share(d.findings[0].gain, calls * p.tail), 1, 0.02);
    p.tail = 4 * best;
    o = run(p);
    d = diagnose(o);
    EXPECT_EQ(d.findings.at(0).why, cause::collective);
    EXPECT_NEAR(share(d.findings[0].gain, calls * 3 * best), 1, 0.02);
    EXPECT_NE(next_step(o, d.findings[0]).command.find("rubato exec --mode auto"), std::string::npos);
}

/// One slow rank among calls that mode auto leaves alone: only algorithms that a library may have are shown.
TEST(diagnosis, small_calls_are_not_advertised) {
    program p{late_by(5ms, [](auto) { return std::vector{2}; })};
    p.model = "curie";
    const observed o = run(p);
    for (const what_if& w : o.examined_rows[0].instead) EXPECT_FALSE(w.by_arrivals) << w.name;
    const std::vector<worth> all = diagnose(o).worths;
    ASSERT_EQ(all.size(), 4U);
    EXPECT_NEAR(share(*all[0].gain, calls * 5ms), 1, 0.02);
    EXPECT_NEAR(share(*all[1].gain, calls * 5ms * 7 / 8), 1, 0.02) << "evenly shared work";
    EXPECT_EQ(all[2].gain, 0ns) << "mode auto leaves them alone";
    p.model.clear();
    EXPECT_FALSE(diagnose(run(p)).worths[3].gain.has_value());
    p.model = "curie";
    p.tail = 2ms;
    EXPECT_FALSE(diagnose(run(p)).worths[3].gain.has_value()) << "no simulation explains it";
}

TEST(diagnosis, every_call_is_simulated_with_its_own_arrivals) {
    program p{late_by(5ms, [](std::uint64_t n) { return n % 4 == 0 ? std::vector{2} : std::vector<int>{}; })};
    p.bytes = 1 << 20;
    p.model = "hockney:alpha=10us,beta=1ns,gamma=0";
    const examined e = run(p).examined_rows[0];
    ASSERT_FALSE(e.instead.empty());
    for (const what_if& w : e.instead)
        EXPECT_GT(w.run_time, 2ms + 1ms) << w.name << ": half of the calls wait for 5 ms, and a vector takes 1 ms";
}

TEST(diagnosis, arrivals_that_are_mended) {
    const arrival_times a{0ms, 1ms, 2ms, 9ms, 10ms};
    EXPECT_EQ(typical(a), 2ms);
    EXPECT_EQ(without(a, std::array{4}), (arrival_times{0ms, 1ms, 2ms, 9ms, 1ms}));
    EXPECT_EQ(without_stragglers(a), (arrival_times{0ms, 1ms, 2ms, 2ms, 2ms}));
    EXPECT_EQ(without_noise(a), (arrival_times{0ms, 1ms, 2ms, 2ms, 2ms}));
    EXPECT_EQ(balanced(a), arrival_times(5, 4400us));
}

TEST(diagnosis, one_line_is_one_place) {
    observed o = run({late_by(5ms, [](auto) { return std::vector{2}; })});
    const dropin::row whole = o.from.rows[0];
    o.from.sites.push_back(o.from.sites[0]);
    dropin::row twin = whole;
    twin.site = 1;
    o.from.rows.push_back(twin);
    const code_place line{"stencil+0x10", "solve", "solve.c", 12};
    dropin::observation together = o.from;
    join_lines(together, std::array{line, line});
    ASSERT_EQ(together.rows.size(), 1U);
    EXPECT_EQ(together.rows[0].calls, whole.calls) << "the same invocations: ranks called from two places";
    EXPECT_EQ(together.rows[0].time, 2 * whole.time);
    EXPECT_EQ(together.rows[0].seen->invocations, whole.seen->invocations);

    for (dropin::brief& b : o.from.rows[1].seen->all) b.number += 1;
    for (dropin::invocation& e : o.from.rows[1].seen->examples) e.number += 1;
    dropin::observation apart = o.from;
    join_lines(apart, std::array{line, line});
    ASSERT_EQ(apart.rows.size(), 1U);
    EXPECT_EQ(apart.rows[0].calls, 2 * whole.calls) << "one call, then the other";
    EXPECT_EQ(apart.rows[0].seen->all.size(), 2 * whole.seen->all.size());
    EXPECT_DOUBLE_EQ(apart.rows[0].seen->waiting, whole.seen->waiting);

    code_place other = line;
    other.line = 13;
    join_lines(o.from, std::array{line, other});
    EXPECT_EQ(o.from.rows.size(), 2U);
}

TEST(diagnosis, two_runs) {
    const observed slow = run({late_by(5ms, [](auto) { return std::vector{2}; })});
    const observed fast = run({jitter});
    const run_comparison c = compare_runs(slow, fast);
    EXPECT_NEAR(share(c.runs[0].duration - c.runs[1].duration, calls * 5ms), 1, 0.05);
    ASSERT_EQ(c.places.size(), 1U);
    EXPECT_EQ(c.places[0].calls[1], calls);
    EXPECT_NE(headline(c).find("The second run took"), std::string::npos);
    EXPECT_NE(headline(c).find("less (33."), std::string::npos) << headline(c);
    EXPECT_NE(headline(compare_runs(fast, slow)).find("more (49."), std::string::npos)
        << headline(compare_runs(fast, slow));
}

TEST(diagnosis, the_map_leaves_nothing_out) {
    std::vector<dropin::invocation> met;
    for (std::uint64_t k = 0; k < 300; ++k) {
        arrival_times a(200, 0ns);
        a[k % 2 == 0 ? 3 : 150] = 1ms;
        met.push_back({k, a, a, {}});
    }
    const dropin::lateness_map map = dropin::map_of(met);
    EXPECT_EQ(map.ranks, 4);
    ASSERT_EQ(map.columns.size(), 100U);
    EXPECT_EQ(std::accumulate(map.counts.begin(), map.counts.end(), std::size_t{0}), 300U);
    for (const auto& column : map.columns) {
        ASSERT_EQ(column.size(), 50U);
        EXPECT_NEAR(share(column[0] + column[37], 1ms), 1, 1e-5) << "both are in every column, by their shares";
        EXPECT_GT(column[0], 300us);
        EXPECT_EQ(column[1], 0ns);
    }
}

TEST(statistics, chance_of_counts) {
    EXPECT_NEAR(base::chance_of_at_least(3, 3, 0.5), 0.125, 1e-12);
    EXPECT_NEAR(base::chance_of_at_least(1, 4, 0.25), 1 - 0.31640625, 1e-12);
    EXPECT_EQ(base::chance_of_at_least(0, 4, 0.25), 1);
    EXPECT_EQ(base::chance_of_at_least(5, 4, 0.25), 0);
    EXPECT_GT(base::uniformity_test(std::array<std::size_t, 4>{25, 24, 26, 25}).p, 0.9);
    EXPECT_LT(base::uniformity_test(std::array<std::size_t, 4>{40, 20, 20, 20}).p, 0.05);
    EXPECT_NEAR(base::uniformity_test(std::array<std::size_t, 4>{40, 20, 20, 20}).statistic, 12, 1e-9);
    EXPECT_LT(base::uniformity_test(std::array<std::size_t, 4>{100, 0, 0, 0}).p, 0.001);
}

}  // namespace
}  // namespace rubato::reports
