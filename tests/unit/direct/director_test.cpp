// Directors in a simulated world: one per rank, all of which must decide alike; what they cost, what they win, and that
// they give up in time. Times are simulated.
#include "direct/director.hpp"

#include "core/splitmix.hpp"
#include "direct/decision.hpp"
#include "direct/enforcer.hpp"
#include "direct/rules.hpp"
#include "rubato/simulate.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

namespace rubato {
namespace {

using namespace std::chrono_literals;

/// What all ranks have on their boards.
struct wall {
    explicit wall(int n, const model& m = {}) : ranks(n), network(m) {}
    struct entry {
        std::map<int, std::vector<std::byte>> said{};
        int from = -1;  // of one rank for all
    };
    int ranks;
    model network;
    time_ns measuring{};  ///< how long it takes to know the network
    std::deque<entry> entries{};
    int synchronised = 0;
    int doubted = 0;  ///< the network
    std::mutex mutex{};
    std::condition_variable changed{};
};

class paper_board final : public board {
public:
    paper_board(wall& w, int me, time_ns& clock) : wall_(w), me_(me), clock_(clock) {}

    std::uint64_t gather(std::span<const std::byte> mine) override { return put(-1, mine); }
    std::uint64_t tell(rank from, std::span<const std::byte> message) override { return put(from.value, message); }
    std::vector<std::byte> take(std::uint64_t ticket) override {
        std::unique_lock lock(wall_.mutex);
        wall::entry& e = wall_.entries[ticket];
        const auto is_there = [&] { return e.from >= 0 ? e.said.contains(e.from) : std::ssize(e.said) == wall_.ranks; };
        EXPECT_TRUE(wall_.changed.wait_for(lock, std::chrono::seconds(10), is_there)) << "ranks wait for each other";
        if (e.from >= 0) return e.said[e.from];
        std::vector<std::byte> all;
        for (const auto& [r, bytes] : e.said) all.insert(all.end(), bytes.begin(), bytes.end());
        return all;
    }
    void synchronise() override {
        if (me_ == 0) ++wall_.synchronised;
    }
    const model& network() override {
        if (!std::exchange(measured_, true)) clock_ += wall_.measuring;
        return wall_.network;
    }
    void doubt_network() override {
        if (me_ == 0) ++wall_.doubted;
    }
    time_ns now() override { return clock_; }

private:
    std::uint64_t put(int from, std::span<const std::byte> bytes) {
        clock_ += 5us;
        const std::lock_guard lock(wall_.mutex);
        if (next_ == wall_.entries.size()) wall_.entries.push_back({{}, from});
        EXPECT_EQ(wall_.entries[next_].from, from) << "ranks exchange different things";
        wall_.entries[next_].said[me_].assign(bytes.begin(), bytes.end());
        wall_.changed.notify_all();
        return next_++;
    }

    wall& wall_;
    int me_;
    time_ns& clock_;
    std::uint64_t next_ = 0;
    bool measured_ = false;
};

using arrivals = std::vector<time_ns>;
using verdict = decision::verdict;

std::size_t last_of(const arrivals& a) { return static_cast<std::size_t>(std::ranges::max_element(a) - a.begin()); }

/// A plan of the simulated world: what is promised for given arrivals, and how long it takes.
struct plan_tale {
    std::string_view id;
    std::function<time_ns(const arrivals& predicted)> promised;
    std::function<time_ns(std::uint64_t call, const arrivals& planned_by, const arrivals& real)> tail;
    time_ns drag{};  ///< how much longer all compute after it
};

/// A program: compute, call, again.
struct program {
    int ranks = 5;
    std::uint64_t calls = 400;
    std::function<time_ns(std::uint64_t call, int r)> compute;
    std::function<time_ns(std::uint64_t call, const arrivals& real)> native_tail;
    std::vector<plan_tale> plans{};
    std::function<directed_call(std::uint64_t call)> what = [](std::uint64_t) {
        return directed_call{collective::reduce, rank(0), 512 << 10};
    };
    time_ns choosing = 20ms;
    time_ns measuring{};  ///< the network, once
    std::function<bool(std::uint64_t call, int r)> fails = [](std::uint64_t, int) { return false; };
    std::vector<experience> remembered{};
    bool waits = true;               ///< all leave when the last does; else all but rank 0 go on at once
    std::optional<model> network{};  ///< of the real choice, which takes no time
    /// Before the first call there was a native one like it, and then ranks took so long to make their directors.
    std::optional<time_ns> met{};
    bool between_hosts = true;
};

struct outcome {
    time_ns total{};
    std::vector<std::string> used{};  // "" for native
    std::vector<directive> directives{};
    std::vector<decision> explained{};
    time_ns chosen{};  ///< time spent on choosing
    int synchronised = 0;
    int doubted = 0;  ///< times the network was
    std::size_t exchanges = 0;
    std::vector<experience> learned{};
    std::vector<bool> works_ahead{};  ///< after each call

    auto native_calls(std::size_t from) const {
        return std::count(used.begin() + static_cast<std::ptrdiff_t>(from), used.end(), "");
    }
    std::size_t decisions(verdict which) const {
        return static_cast<std::size_t>(std::ranges::count(explained, which, &decision::made));
    }
};

const plan_tale& tale_of(const program& p, const algorithm& a) {
    return *std::ranges::find(p.plans, a.id, &plan_tale::id);
}

void go_on(const program& p, std::vector<time_ns>& clocks, time_ns tail) {
    const time_ns last = std::ranges::max(clocks);
    for (std::size_t r = 0; r < clocks.size(); ++r) clocks[r] = p.waits || r == 0 ? last + tail : clocks[r] + 5ms;
}

time_ns natively(const program& p) {
    std::vector<time_ns> clocks(static_cast<std::size_t>(p.ranks));
    for (std::uint64_t call = 1; call <= p.calls; ++call) {
        for (int r = 0; r < p.ranks; ++r) clocks[static_cast<std::size_t>(r)] += p.compute(call, r);
        go_on(p, clocks, p.native_tail(call, clocks));
    }
    return std::ranges::max(clocks);
}

class directors {
public:
    directors(
        int ranks, std::span<time_ns> clocks, const std::function<director::choice(int)>& choose,
        std::deque<effort>* processes = nullptr, const std::vector<experience>& remembered = {},
        const model& network = {},
        const std::function<void(int, director::settings&)>& more = [](int, director::settings&) {})
        : wall_{ranks, network}, explained_(static_cast<std::size_t>(ranks)) {
        for (int r = 0; r < ranks; ++r) {
            const auto i = static_cast<std::size_t>(r);
            boards_.emplace_back(wall_, r, clocks[i]);
            director::settings s;
            s.me = rank(r);
            s.ranks = ranks;
            s.choose = choose(r);
            s.remembered = remembered;
            if (processes != nullptr) s.process = &(*processes)[i];
            more(r, s);
            all_.push_back(std::make_unique<director>(s, boards_.back(),
                                                      [this, i](const decision& d) { explained_[i].push_back(d); }));
        }
    }
    director& operator[](int r) { return *all_[static_cast<std::size_t>(r)]; }
    const std::vector<std::vector<decision>>& explained() const { return explained_; }
    int synchronised() const { return wall_.synchronised; }
    int doubted() const { return wall_.doubted; }
    std::size_t exchanges() const { return wall_.entries.size(); }
    void measure_in(time_ns t) { wall_.measuring = t; }

private:
    wall wall_;
    std::deque<paper_board> boards_{};
    std::vector<std::vector<decision>> explained_;
    std::vector<std::unique_ptr<director>> all_{};
};

bool alike(const directive& a, const directive& b) {
    return a.use == b.use && a.segments == b.segments && a.round_time == b.round_time && a.arrivals == b.arrivals &&
           a.roll_call == b.roll_call;
}

/// Where the processes do more than this, they begin at the same time.
outcome directed(const program& p, std::deque<effort>* processes = nullptr, time_ns begin = {}) {
    outcome o;
    std::vector<time_ns> clocks(static_cast<std::size_t>(p.ranks), begin);
    const auto compute = [&](std::uint64_t call) {
        for (int r = 0; r < p.ranks; ++r) clocks[static_cast<std::size_t>(r)] += p.compute(call, r);
    };
    std::vector<director::settings> more(static_cast<std::size_t>(p.ranks));
    if (p.met) {
        compute(1);
        for (std::size_t r = 0; r < clocks.size(); ++r) more[r].seen.push_back({p.what(0), clocks[r], {}});
        go_on(p, clocks, p.native_tail(1, clocks));
        for (std::size_t r = 0; r < clocks.size(); ++r)
            if (!p.fails(0, static_cast<int>(r))) more[r].seen.front().exit = clocks[r];
        compute(1);
        for (std::size_t r = 0; r < clocks.size(); ++r) more[r].came = clocks[r];
        std::ranges::fill(clocks, std::ranges::max(clocks) + *p.met);
    }
    directors all(
        p.ranks, clocks,
        [&](int r) -> director::choice {
            if (p.network) return {};
            return [&, r](const problem& q, std::int64_t) {
                clocks[static_cast<std::size_t>(r)] += p.choosing;
                o.chosen += p.choosing;
                std::vector<candidate> found;
                for (const plan_tale& t : p.plans) {
                    candidate c;
                    c.use = &find_algorithm(t.id);
                    c.segment = 16 << 10;
                    c.end = std::ranges::max(q.arrivals) + t.promised(q.arrivals);
                    found.push_back(c);
                }
                std::ranges::stable_sort(found, {}, &candidate::end);
                return found;
            };
        },
        processes, p.remembered, p.network.value_or(model{}),
        [&](int r, director::settings& s) {
            s.seen = more[static_cast<std::size_t>(r)].seen;
            s.came = more[static_cast<std::size_t>(r)].came;
            s.between_hosts = p.between_hosts;
        });
    all.measure_in(p.measuring);
    for (std::uint64_t call = 1; call <= p.calls; ++call) {
        const directed_call c = p.what(call);
        if (call > 1 || !p.met) compute(call);
        const arrivals real = clocks;
        std::vector<directive> told(static_cast<std::size_t>(p.ranks));
        const auto arrive = [&](int r) {
            directed_call mine = c;
            if (r != c.root.value) mine.own = c.own * (2 * r + 1) / (p.ranks * p.ranks);
            told[static_cast<std::size_t>(r)] = all[r].arrive(mine, clocks[static_cast<std::size_t>(r)]);
        };
        if (call == 1 && p.met) {  // then they wait for each other
            std::vector<std::jthread> ranks;
            for (int r = 0; r < p.ranks; ++r) ranks.emplace_back(arrive, r);
        } else {
            for (int r = 0; r < p.ranks; ++r) arrive(r);
        }
        const directive& how = told.front();
        for (int r = 1; r < p.ranks; ++r)
            EXPECT_TRUE(alike(how, told[static_cast<std::size_t>(r)])) << "call " << call << ", rank " << r;
        const plan_tale* plan = how.use != nullptr ? &tale_of(p, *how.use) : nullptr;
        // A keeper that is late holds up all others; else who is there is known after its patience.
        time_ns asking{};
        if (how.roll_call) {
            const auto keeper = static_cast<std::size_t>(how.roll_call->keeper.value);
            asking = 2 * how.roll_call->patience + 1ms + (last_of(real) == keeper ? 25ms : 0ms);
        }
        const arrivals& by = how.roll_call ? real : how.arrivals;
        go_on(p, clocks, plan != nullptr ? plan->tail(call, by, real) + asking : p.native_tail(call, real));
        for (int r = 0; r < p.ranks; ++r) {
            time_ns& clock = clocks[static_cast<std::size_t>(r)];
            if (p.fails(call, r))
                all[r].failed();
            else
                all[r].leave(clock);
            if (plan != nullptr) clock += plan->drag;
        }
        o.used.emplace_back(how.use == nullptr ? "" : how.use->id);
        o.directives.push_back(how);
        o.works_ahead.push_back(all[0].works_ahead());
    }
    for (const std::vector<decision>& e : all.explained()) EXPECT_EQ(e, all.explained().front());
    o.explained = all.explained().front();
    o.total = std::ranges::max(clocks);
    o.synchronised = all.synchronised();
    o.doubted = all.doubted();
    o.exchanges = all.exchanges();
    o.learned = all[0].learned();
    for (int r = 1; r < p.ranks; ++r) EXPECT_EQ(all[r].learned(), o.learned);
    return o;
}

/// A number from 0 to 1 that is always the same.
double chance(std::uint64_t seed, std::uint64_t call, std::uint64_t r) {
    splitmix g(seed * 1000003 + call * 1009 + r);
    return static_cast<double>(g.next() >> 11) / static_cast<double>(std::uint64_t{1} << 53);
}

time_ns times(time_ns t, double f) { return time_ns(static_cast<time_ns::rep>(static_cast<double>(t.count()) * f)); }

/// One rank comes late; an arrival-aware plan is good if it knows which, and mediocre else.
program late_rank(int who, double jitter = 0.02, std::uint64_t seed = 1) {
    program p;
    p.compute = [=](std::uint64_t call, int r) {
        const time_ns mean = r == who ? 150ms : 100ms;
        return times(mean, 1 + jitter * (chance(seed, call, static_cast<std::uint64_t>(r)) - 0.5));
    };
    p.native_tail = [](std::uint64_t, const arrivals&) { return time_ns(40ms); };
    p.plans = {{"reduce/clairvoyant", [](const arrivals&) { return time_ns(10ms); },
                [](std::uint64_t, const arrivals& by, const arrivals& real) {
                    return time_ns(!by.empty() && last_of(by) == last_of(real) ? 10ms : 30ms);
                }}};
    return p;
}

/// The promise, and what may be lost before: three challenges of nine calls that are at most twice as slow or are ended
/// after five calls, and two choices.
time_ns allowed(const program& p, time_ns worst_tail) {
    return times(natively(p), 1.02) + 3 * std::max<time_ns>(9 * 40ms, 5 * worst_tail) + 300ms;
}

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
    const decision& tried = o.explained.front();
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
    p.what = [](std::uint64_t call) { return directed_call{collective::reduce, rank(call == 0 ? 1 : 0), 512 << 10}; };
    EXPECT_EQ(directed(p).native_calls(0), 3);
}

/// A gather's root is late by 220 ms, except at the first call, for which ranks have met. Natively everything comes
/// after that; a plan that begins early has had the time of the delay.
program late_root(time_ns plain, time_ns early_takes) {
    program p;
    p.what = [](std::uint64_t) { return directed_call{collective::gather, rank(0), 256 << 10}; };
    p.compute = [](std::uint64_t call, int r) { return time_ns(r == 0 && call > 1 ? 240ms : 20ms); };
    p.native_tail = [](std::uint64_t, const arrivals&) { return time_ns(660ms); };
    const auto lateness = [](const arrivals& a) { return std::ranges::max(a) - std::ranges::min(a); };
    p.plans = {{"gather/linear", [=](const arrivals&) { return plain; },
                [=](std::uint64_t, const arrivals&, const arrivals&) { return plain; }},
               {"gather/sorted_linear_sync+early", [=](const arrivals& a) { return 657ms - lateness(a); },
                [=](std::uint64_t, const arrivals&, const arrivals&) { return early_takes; }}};
    return p;
}

std::ptrdiff_t first_use(const outcome& o, std::string_view id) {
    return std::ranges::find(o.used, id) - o.used.begin();
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
    EXPECT_EQ(o.decisions(verdict::left), 1U);
    EXPECT_LT(o.total, times(natively(p), 1.002));

    // And what takes no time to speak of.
    program q = late_rank(2);
    q.native_tail = [](std::uint64_t, const arrivals&) { return time_ns(1ms); };
    q.plans.front().promised = [](const arrivals&) { return time_ns(100us); };
    EXPECT_EQ(directed(q).native_calls(0), 400);
    EXPECT_EQ(directed(q).chosen, 0ms);
}

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

/// One communicator after the other, each with its directors.
TEST(director, counts_what_was_spent_on_other_communicators) {
    program p = late_rank(1);
    p.calls = 120;
    p.plans.clear();
    for (const std::string_view id : {"reduce/clairvoyant", "reduce/chain", "reduce/binary"})
        p.plans.push_back({id, [](const arrivals&) { return time_ns(10ms); },
                           [](std::uint64_t, const arrivals&, const arrivals&) { return time_ns(75ms); }});
    std::deque<effort> processes(static_cast<std::size_t>(p.ranks));
    time_ns now{};
    constexpr int communicators = 60;
    for (int i = 0; i < communicators; ++i) now = directed(p, &processes, now).total;
    const time_ns native = communicators * natively(p);
    EXPECT_GT(processes.front().free_duels, 3);
    EXPECT_LE(now, times(native, 1.02) + 24 * 9 * 35ms);
    EXPECT_GT(directed(p).total - natively(p), (now - native) / communicators);
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
    p.what = [](std::uint64_t) { return directed_call{collective::allreduce, rank(0), 512 << 10}; };
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
        return std::ranges::count_if(o.directives, [](const directive& d) { return d.roll_call.has_value(); });
    };
    program p = moving_straggler(1);
    p.calls = 1000;
    const auto compute = p.compute;
    p.compute = [=](std::uint64_t call, int r) { return compute(splitmix(call).below(1000), r); };
    const outcome o = directed(p);
    ASSERT_TRUE(o.directives.back().roll_call);
    EXPECT_EQ(o.used.back(), "allreduce/clairvoyant");
    EXPECT_GT(rolled(o), 950) << "roll is called as soon as the first plan is kept";

    // Where the same rank is always late, or all are in time, it is predicted.
    EXPECT_EQ(rolled(directed(late_rank(3))), 0);
    EXPECT_EQ(rolled(directed(moving_straggler(25))), 0);
}

TEST(director, carries_over_what_it_knows_of_other_roots_and_sizes) {
    program p = late_rank(3);
    p.what = [](std::uint64_t call) {
        return directed_call{collective::reduce, rank(static_cast<std::int32_t>(call / 40 % 5)),
                             call < 200 ? 512 << 10 : 300 << 10};
    };
    const outcome o = directed(p);
    EXPECT_EQ(o.native_calls(30), 0) << "no root begins from nothing";
    EXPECT_LT(o.total, natively(p) - 27ms * 400);
}

TEST(director, carries_over_a_plan_that_is_ahead_on_trial) {
    program p = late_rank(3);
    p.what = [](std::uint64_t call) { return directed_call{collective::reduce, rank(call < 11 ? 0 : 1), 512 << 10}; };
    const outcome o = directed(p);
    EXPECT_EQ(o.explained.front().made, verdict::tried);
    EXPECT_GT(o.explained.front().call + direct::trial, 11U) << "the trial is over";
    EXPECT_EQ(o.native_calls(10), 0);
}

/// A v-form: the root alone knows how many bytes a call has.
program of_unequal_chunks(const std::function<std::int64_t(std::uint64_t call)>& bytes) {
    program p = late_rank(3);
    p.plans.front().id = "gatherv/sorted_linear_sync";
    p.what = [=](std::uint64_t call) { return directed_call{collective::gatherv, rank(0), 0, bytes(call)}; };
    // Times are in proportion to the size.
    const auto scaled = [=](std::uint64_t call, time_ns t) {
        return times(t, static_cast<double>(bytes(call)) / static_cast<double>(5 * (64 << 10)));
    };
    p.native_tail = [=](std::uint64_t call, const arrivals&) { return scaled(call, 40ms); };
    p.plans.front().tail = [=](std::uint64_t call, const arrivals& by, const arrivals& real) {
        return scaled(call, !by.empty() && last_of(by) == last_of(real) ? 10ms : 30ms);
    };
    return p;
}

constexpr std::int64_t usual_bytes = 5 * (64 << 10);

TEST(director, learns_sizes_that_not_all_know) {
    program p = of_unequal_chunks([](std::uint64_t call) { return usual_bytes + (call % 5) * (usual_bytes / 10); });
    const outcome o = directed(p);
    EXPECT_EQ(o.native_calls(30), 0);
    EXPECT_LT(o.total, natively(p) - 27ms * 400);
    ASSERT_EQ(o.learned.size(), 1U);
    EXPECT_GE(o.learned.front().bytes, 64 << 10);
    EXPECT_LE(o.learned.front().bytes, 96 << 10);
    p.remembered = o.learned;
    const outcome again = directed(p);
    EXPECT_EQ(again.native_calls(0), 0);
    p.what = [](std::uint64_t) { return directed_call{collective::gatherv, rank(1), 0, usual_bytes}; };
    EXPECT_EQ(directed(p).native_calls(0), 0) << "another root";
    program larger = of_unequal_chunks([](std::uint64_t) { return 30 * usual_bytes; });
    larger.remembered = o.learned;
    EXPECT_GT(directed(larger).native_calls(0), 2) << "other sizes begin from nothing";
    EXPECT_EQ(directed(larger).native_calls(40), 0);
}

TEST(director, leaves_small_calls_alone_once_it_knows_that_they_are) {
    program p = of_unequal_chunks([](std::uint64_t call) { return call % 3 == 0 ? 0 : 1 << (call % 14); });
    p.native_tail = [](std::uint64_t, const arrivals&) { return time_ns(40ms); };
    p.calls = 5000;
    const outcome o = directed(p);
    EXPECT_EQ(o.native_calls(0), 5000);
    EXPECT_EQ(o.decisions(verdict::tried), 0U);
    EXPECT_EQ(o.chosen, 0ms);
    EXPECT_LT(o.exchanges, 20U) << "asking is rare";
}

TEST(director, follows_sizes_that_move_for_good) {
    for (const double factor : {0.1, 30.}) {
        program p = of_unequal_chunks([=](std::uint64_t call) {
            return call <= 200 ? usual_bytes : static_cast<std::int64_t>(factor * usual_bytes);
        });
        p.plans.front().promised = [](const arrivals&) { return time_ns(2ms); };
        p.calls = 600;
        const outcome o = directed(p);
        EXPECT_EQ(o.native_calls(30) - o.native_calls(200), 0) << factor;
        EXPECT_GT(o.native_calls(200), 2) << "it is measured anew";
        EXPECT_LT(o.native_calls(200), 40) << factor;
        EXPECT_EQ(o.used.back(), "gatherv/sorted_linear_sync") << factor;
        EXPECT_LT(o.total, natively(p)) << factor;
        ASSERT_EQ(o.learned.size(), 1U);
        EXPECT_EQ(o.learned.front().bytes, static_cast<std::int64_t>(factor * usual_bytes) / 5);
    }
}

/// Times of calls of other sizes are not compared, and it is not asked for sizes for ever.
TEST(director, keeps_its_promise_where_sizes_keep_changing) {
    for (const int most : {3, 6, 10}) {
        for (const time_ns real : {10ms, 60ms, 400ms}) {
            program p = of_unequal_chunks([=](std::uint64_t call) {
                return usual_bytes << splitmix(call).below(static_cast<std::uint64_t>(most));
            });
            p.plans.front().tail = [native = p.native_tail, real](std::uint64_t call, const arrivals&,
                                                                  const arrivals& all) {
                return native(call, all) * real.count() / time_ns(40ms).count();
            };
            p.calls = 3000;
            const outcome o = directed(p);
            EXPECT_LE(o.total, times(natively(p), 1.02)) << most << ", " << format_time(real);
            EXPECT_TRUE(o.exchanges < 200 || o.decisions(verdict::kept) > 0) << most << ", " << format_time(real);
        }
    }
}

/// A gatherv or scatterv on a slow network, chosen for by simulation. Natively the root serves ranks in their order
/// and, if messages wait for their receiver, all ranks after a late one wait with it.
program in_the_order_of_ranks(collective what, int late, bool waits) {
    constexpr std::int64_t chunk = 128 << 10;
    const model network = parse_model(waits ? "loggp:L=100us,o=10us,g=10us,G=160ns,rendezvous=64KiB"
                                            : "loggp:L=100us,o=10us,g=10us,G=160ns");
    program p;
    p.ranks = 16;
    p.calls = 60;
    p.network = network;
    p.compute = [=](std::uint64_t, int r) { return r == late ? time_ns(600ms) : time_ns(20ms); };
    p.what = [=](std::uint64_t) { return directed_call{what, rank(0), 0, 16 * chunk}; };
    p.native_tail = [=](std::uint64_t, const arrivals& real) {
        const bool together = std::ranges::max(real) - std::ranges::min(real) < 100ms;
        const int left = together ? 15 : waits ? 16 - late : what == collective::gatherv ? 1 : 0;
        return left * times(1ns, 160. * chunk);
    };
    for (const algorithm& a : algorithms())
        if (a.what == what && !a.early)
            p.plans.push_back({a.id, {}, [=, &a](std::uint64_t, const arrivals& by, const arrivals& real) {
                                   problem q;
                                   q.what = what;
                                   q.ranks = 16;
                                   q.arrivals = by;
                                   const std::vector sizes{layout::uniform(chunk)};
                                   const simulation made = simulate(network, build_all(a, q), sizes, real);
                                   return std::ranges::max(made.exits) - std::ranges::max(real);
                               }});
    return p;
}

TEST(director, finds_a_plan_where_ranks_wait_for_a_late_one) {
    for (const collective what : {collective::gatherv, collective::scatterv}) {
        for (const int late : {1, 3, 15}) {
            const outcome nobody_waits = directed(in_the_order_of_ranks(what, late, false));
            EXPECT_EQ(nobody_waits.native_calls(0), 60) << "there is nothing to win";
            const outcome o = directed(in_the_order_of_ranks(what, late, true));
            EXPECT_EQ(o.native_calls(10), late == 15 ? 50 : 0) << traits(what).name << ", " << late;
        }
    }
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
    p.what = [](std::uint64_t) { return directed_call{collective::allreduce, rank(0), 512 << 10}; };
    experience e = directed(late_rank(3)).learned.front();
    e.kind = operation_of(collective::allreduce, rank(0), 512 << 10);
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
    EXPECT_EQ(last_of(moved.directives[10].arrivals), 1U);
    EXPECT_LT(moved.total, natively(q) - 28ms * 400);
    EXPECT_EQ(moved.doubted, 0);

    // What was found for a quarter of the size does not scale: that says nothing of the network.
    program larger = late_rank(3);
    larger.remembered = directed(late_rank(3)).learned;
    larger.what = [](std::uint64_t) { return directed_call{collective::reduce, rank(0), 2 << 20}; };
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

/// Where ranks do not wait for each other a shorter tail may be worth nothing, and only the pace tells.
TEST(director, looks_at_the_pace_where_ranks_run_ahead) {
    program p;
    p.waits = false;
    p.compute = [](std::uint64_t, int r) { return time_ns(r == 4 ? 60ms : 10ms); };
    p.native_tail = [](std::uint64_t, const arrivals&) { return time_ns(40ms); };
    p.plans = {{"reduce/chain", [](const arrivals&) { return time_ns(5ms); },
                [](std::uint64_t, const arrivals&, const arrivals&) { return time_ns(6ms); }}};
    const outcome o = directed(p);
    EXPECT_GE(o.decisions(verdict::tried), 1U);
    EXPECT_EQ(o.decisions(verdict::kept), 0U);
    EXPECT_LE(o.total, times(natively(p), 1.02) + 1s);

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
        return directed_call{collective::reduce, rank(0), call % 2 == 0 ? 300 << 10 : 500 << 10};
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

TEST(director, compares_like_with_like_where_sizes_change) {
    program p = late_rank(2);
    p.what = [](std::uint64_t call) {
        return directed_call{collective::reduce, rank(0), call <= 7 ? 300 << 10 : 500 << 10};
    };
    p.native_tail = [](std::uint64_t call, const arrivals&) { return time_ns(call <= 7 ? 30ms : 50ms); };
    p.plans.front().tail = [](std::uint64_t call, const arrivals&, const arrivals&) {
        return time_ns(call <= 7 ? 18ms : 30ms);
    };
    EXPECT_GE(directed(p).decisions(verdict::kept), 1U);
    EXPECT_EQ(directed(p).decisions(verdict::withdrawn), 0U);
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

TEST(director, spends_little_on_choosing) {
    program p = late_rank(2);
    p.ranks = 20;
    p.calls = 3000;
    p.choosing = 100ms;
    p.compute = [](std::uint64_t, int) { return time_ns(200us); };
    p.native_tail = [](std::uint64_t, const arrivals&) { return time_ns(800us); };
    p.what = [](std::uint64_t call) {
        return directed_call{collective::reduce, rank(static_cast<std::int32_t>(call % 20)), 64 << 10};
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
        return directed_call{call < 20 || call % 2 == 0 ? collective::reduce : collective::allreduce, rank(0),
                             512 << 10};
    };
    p.choosing = 0ms;
    const auto second_tried = [&] {
        const outcome o = directed(p);
        EXPECT_EQ(o.decisions(verdict::tried), 2U);
        return std::find_if(o.explained.rbegin(), o.explained.rend(),
                            [](const decision& d) { return d.made == verdict::tried; })
            ->call;
    };
    EXPECT_LT(second_tried(), 8U);
    p.measuring = 200ms;  // 1 % of 20 s, in which the second is called some 80 times
    EXPECT_GT(second_tried(), 60U);
}

/// The first to come chooses: it would wait anyway.
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

TEST(director, lets_choose_who_has_time) {
    program p = late_rank(2, 0);
    p.ranks = 4;
    const auto compute = p.compute;
    p.compute = [=](std::uint64_t call, int r) { return compute(call, r) - (r == 1 ? 40ms : 0ms); };
    p.choosing = 80ms;
    p.plans.front().promised = [](const arrivals&) { return time_ns(39ms); };
    EXPECT_LT(directed(p).total, natively(p) + 20ms);
}

/// Ranks that are at different calls, each in a thread, decide alike and never wait in vain.
TEST(director, decides_alike_whoever_is_ahead) {
    constexpr int ranks = 5;
    constexpr std::size_t calls = 500;
    std::size_t tried = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::vector<time_ns> clocks(ranks);
        directors all(ranks, clocks, [&](int) {
            return [&](const problem& q, std::int64_t bytes) {
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
        const std::array kinds{directed_call{collective::reduce, rank(0), 100000},
                               directed_call{collective::bcast, rank(1), 70000},
                               directed_call{collective::allreduce, rank(0), 1 << 20}};
        std::vector<std::vector<directive>> said(ranks);
        std::vector<std::thread> threads;
        for (int r = 0; r < ranks; ++r)
            threads.emplace_back([&, r] {
                const auto me = static_cast<std::uint64_t>(r);
                for (std::size_t i = 0; i < calls; ++i) {
                    clocks[me] += times(2ms, chance(seed, i, me));
                    if (chance(seed, i, 10 + me) < 0.1) std::this_thread::yield();
                    const directed_call& c = kinds[chance(seed, i, 1) < 0.6 ? 0 : chance(seed, i, 2) < 0.5 ? 1 : 2];
                    said[me].push_back(all[r].arrive(c, clocks[me]));
                    clocks[me] += times(4ms, chance(seed, i, 20 + me));
                    all[r].leave(clocks[me]);
                }
            });
        for (std::thread& t : threads) t.join();
        for (std::size_t i = 0; i < calls; ++i)
            for (const std::vector<directive>& of : said) EXPECT_TRUE(alike(of[i], said[0][i])) << "call " << i;
        for (const std::vector<decision>& e : all.explained()) EXPECT_EQ(e, all.explained().front());
        tried += all.explained().front().size();
    }
    EXPECT_GT(tried, 40U);
}

struct told {
    std::vector<decision> said{};
    int asked = 0;

    enforcer of(std::string_view id) {
        return {find_algorithm(id), 3,
                [this] {
                    ++asked;
                    return model{};
                },
                [this](const decision& d) { said.push_back(d); }};
    }
};

TEST(enforcer, has_every_call_made_by_its_algorithm) {
    told t;
    enforcer it = t.of("reduce/clairvoyant");
    for (int call = 0; call < 20; ++call) {
        const directive& how = it.arrive({collective::reduce, rank(0), 100000}, 30ms * call);
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

TEST(enforcer, asks_for_nothing_that_its_algorithm_does_not_use) {
    told t;
    enforcer it = t.of("allreduce/recursive_doubling");
    const directive& how = it.arrive({collective::allreduce, rank(0), 100000}, 0ns);
    EXPECT_EQ(how.segments, 1U);
    EXPECT_EQ(how.round_time, 0ns);
    EXPECT_EQ(t.asked, 0);
    EXPECT_FALSE(t.said.front().root) << "an allreduce has none";
}

TEST(enforcer, says_once_why_it_is_not_obeyed) {
    told t;
    enforcer it = t.of("reduce/chain");
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

}  // namespace
}  // namespace rubato
