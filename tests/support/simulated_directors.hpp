// Directors in a simulated world: one per rank, all of which must decide alike. Times are simulated.
#pragma once

#include "dropin/direct/director.hpp"

#include "base/core/splitmix.hpp"
#include "dropin/direct/learned.hpp"
#include "dropin/direct/rules.hpp"
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

namespace rubato::direct_test {

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
    std::optional<model> inside{};
    time_ns measuring{};  ///< how long it takes to know the network
    std::deque<entry> entries{};
    int synchronised = 0;
    int doubted = 0;  ///< the network
    std::mutex mutex{};
    std::condition_variable changed{};
};

class paper_board final : public dropin::board {
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
    const model* inside() override { return wall_.inside ? &*wall_.inside : nullptr; }
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
using verdict = dropin::decision::verdict;

inline std::size_t last_of(const arrivals& a) {
    return static_cast<std::size_t>(std::ranges::max_element(a) - a.begin());
}

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
    std::function<dropin::directed_call(std::uint64_t call)> what = [](std::uint64_t) {
        return dropin::directed_call{collective::reduce, rank(0), 512 << 10};
    };
    time_ns choosing = 20ms;
    time_ns measuring{};  ///< the network, once
    std::function<bool(std::uint64_t call, int r)> fails = [](std::uint64_t, int) { return false; };
    std::vector<dropin::experience> remembered{};
    bool waits = true;               ///< all leave when the last does; else all but rank 0 go on at once
    std::optional<model> network{};  ///< of the real choice, which takes no time
    /// Before the first call there was a native one like it, and then ranks took so long to make their directors.
    std::optional<time_ns> met{};
    bool between_hosts = true;
};

struct outcome {
    time_ns total{};
    std::vector<std::string> used{};  // "" for native
    std::vector<dropin::directive> directives{};
    std::vector<dropin::decision> explained{};
    time_ns chosen{};  ///< time spent on choosing
    int synchronised = 0;
    int doubted = 0;  ///< times the network was
    std::size_t exchanges = 0;
    std::vector<dropin::experience> learned{};
    std::vector<bool> works_ahead{};  ///< after each call

    auto native_calls(std::size_t from) const {
        return std::count(used.begin() + static_cast<std::ptrdiff_t>(from), used.end(), "");
    }
    std::size_t decisions(verdict which) const {
        return static_cast<std::size_t>(std::ranges::count(explained, which, &dropin::decision::made));
    }
};

inline const plan_tale& tale_of(const program& p, const algorithm& a) {
    return *std::ranges::find(p.plans, a.id, &plan_tale::id);
}

inline void go_on(const program& p, std::vector<time_ns>& clocks, time_ns tail) {
    const time_ns last = std::ranges::max(clocks);
    for (std::size_t r = 0; r < clocks.size(); ++r) clocks[r] = p.waits || r == 0 ? last + tail : clocks[r] + 5ms;
}

inline time_ns natively(const program& p) {
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
        int ranks, std::span<time_ns> clocks, const std::function<dropin::director::choice(int)>& choose,
        std::deque<dropin::directing_cost>* processes = nullptr, const std::vector<dropin::experience>& remembered = {},
        const model& network = {},
        const std::function<void(int, dropin::director::settings&)>& more = [](int, dropin::director::settings&) {})
        : wall_{ranks, network}, explained_(static_cast<std::size_t>(ranks)) {
        for (int r = 0; r < ranks; ++r) {
            const auto i = static_cast<std::size_t>(r);
            boards_.emplace_back(wall_, r, clocks[i]);
            dropin::director::settings s;
            s.me = rank(r);
            s.ranks = ranks;
            s.choose = choose(r);
            s.remembered = remembered;
            if (processes != nullptr) s.process = &(*processes)[i];
            more(r, s);
            all_.push_back(std::make_unique<dropin::director>(
                s, boards_.back(), [this, i](const dropin::decision& d) { explained_[i].push_back(d); }));
        }
    }
    dropin::director& operator[](int r) { return *all_[static_cast<std::size_t>(r)]; }
    const std::vector<std::vector<dropin::decision>>& explained() const { return explained_; }
    int synchronised() const { return wall_.synchronised; }
    int doubted() const { return wall_.doubted; }
    std::size_t exchanges() const { return wall_.entries.size(); }
    void measure_in(time_ns t) { wall_.measuring = t; }
    void know_inside(const model& m) { wall_.inside = m; }

private:
    wall wall_;
    std::deque<paper_board> boards_{};
    std::vector<std::vector<dropin::decision>> explained_;
    std::vector<std::unique_ptr<dropin::director>> all_{};
};

inline bool alike(const dropin::directive& a, const dropin::directive& b) {
    return a.use == b.use && a.segments == b.segments && a.round_time == b.round_time && a.arrivals == b.arrivals &&
           a.roll_call == b.roll_call;
}

/// Where the processes do more than this, they begin at the same time.
inline outcome directed(const program& p, std::deque<dropin::directing_cost>* processes = nullptr, time_ns begin = {}) {
    outcome o;
    std::vector<time_ns> clocks(static_cast<std::size_t>(p.ranks), begin);
    const auto compute = [&](std::uint64_t call) {
        for (int r = 0; r < p.ranks; ++r) clocks[static_cast<std::size_t>(r)] += p.compute(call, r);
    };
    std::vector<dropin::director::settings> more(static_cast<std::size_t>(p.ranks));
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
        [&](int r) -> dropin::director::choice {
            if (p.network) return {};
            return [&, r](const problem& q, std::int64_t, const simulator::call_loop*) {
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
        [&](int r, dropin::director::settings& s) {
            s.seen = more[static_cast<std::size_t>(r)].seen;
            s.came = more[static_cast<std::size_t>(r)].came;
            s.between_hosts = p.between_hosts;
        });
    all.measure_in(p.measuring);
    for (std::uint64_t call = 1; call <= p.calls; ++call) {
        const dropin::directed_call c = p.what(call);
        if (call > 1 || !p.met) compute(call);
        const arrivals real = clocks;
        std::vector<dropin::directive> told(static_cast<std::size_t>(p.ranks));
        const auto arrive = [&](int r) {
            dropin::directed_call mine = c;
            if (r != c.root.value) mine.own = c.own * (2 * r + 1) / (p.ranks * p.ranks);
            told[static_cast<std::size_t>(r)] = all[r].arrive(mine, clocks[static_cast<std::size_t>(r)]);
        };
        if (call == 1 && p.met) {  // then they wait for each other
            std::vector<std::jthread> ranks;
            for (int r = 0; r < p.ranks; ++r) ranks.emplace_back(arrive, r);
        } else {
            for (int r = 0; r < p.ranks; ++r) arrive(r);
        }
        const dropin::directive& how = told.front();
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
    for (const std::vector<dropin::decision>& e : all.explained()) EXPECT_EQ(e, all.explained().front());
    o.explained = all.explained().front();
    o.total = std::ranges::max(clocks);
    o.synchronised = all.synchronised();
    o.doubted = all.doubted();
    o.exchanges = all.exchanges();
    o.learned = all[0].learned();
    for (int r = 1; r < p.ranks; ++r) EXPECT_EQ(all[r].learned(), o.learned);
    return o;
}

inline std::ptrdiff_t first_use(const outcome& o, std::string_view id) {
    return std::ranges::find(o.used, id) - o.used.begin();
}

/// A number from 0 to 1 that is always the same.
inline double chance(std::uint64_t seed, std::uint64_t call, std::uint64_t r) {
    base::splitmix g(seed * 1000003 + call * 1009 + r);
    return static_cast<double>(g.next() >> 11) / static_cast<double>(std::uint64_t{1} << 53);
}

inline time_ns times(time_ns t, double f) {
    return time_ns(static_cast<time_ns::rep>(static_cast<double>(t.count()) * f));
}

/// One rank comes late; an arrival-aware plan is good if it knows which, and mediocre else.
inline program late_rank(int who, double jitter = 0.02, std::uint64_t seed = 1) {
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
inline time_ns allowed(const program& p, time_ns worst_tail) {
    return times(natively(p), 1.02) + 3 * std::max<time_ns>(9 * 40ms, 5 * worst_tail) + 300ms;
}

}  // namespace rubato::direct_test
