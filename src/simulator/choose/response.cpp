#include "simulator/choose/response.hpp"

#include "base/core/overloaded.hpp"
#include "simulator/simulate/run.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace rubato::simulator {
namespace {

/// Steps times ranks.
constexpr std::size_t most_work = std::size_t{1} << 25;

/// What a message takes, in the words of LogGP.
struct costs {
    bool synchronous = false;  ///< it takes both sides' interfaces at once
    double L = 0, o = 0, g = 0, G = 0, combine = 0;
    bool by_processor = false;  ///< which sends, and is busy until the last byte has left

    /// Of its bytes.
    std::int64_t span(std::int64_t bytes) const {
        const auto all = static_cast<double>(bytes);
        return whole_ns(synchronous || by_processor ? g + all * G : std::max(all - 1, 0.) * G);
    }
};

costs costs_of(const model& m) {
    const auto buffered = [](const auto& n) { return costs{false, n.L, n.o, n.g, n.G, n.combine, false}; };
    return std::visit(
        base::overloaded{[](const hockney& n) { return costs{true, 0, 0, n.alpha, n.beta, n.gamma, false}; },
                         [&](const loggp& n) { return buffered(n); },
                         [](const loggp5& n) { return costs{false, n.L, n.o, 0, n.G, 0, true}; },
                         [&](const loggops& n) { return buffered(n); }},
        m.network);
}

/// For each state before the call, how much later something is.
using after_states = std::span<std::int64_t>;

void wait_for(after_states t, std::span<const std::int64_t> other) {
    for (std::size_t q = 0; q < t.size(); ++q) t[q] = std::max(t[q], other[q]);
}
void add(after_states t, std::int64_t time) {
    for (std::int64_t& each : t) each += time;  // `never` stays far below all others
}

/// Runs each step once it has all that it waits for: steps of its rank, the step before it at the same interface, and
/// of a message the other side. All steps are numbered, rank by rank.
class longest_ways {
public:
    longest_ways(std::span<const schedules::sized_schedule> all, const costs& c)
        : c_(c), n_(all.size()), states_(3 * n_), begin_(states_) {
        for (std::size_t r = 0; r < n_; ++r) {
            first_.push_back(steps_.size());
            for (const schedules::sized_step& s : all[r].steps) steps_.push_back({&s, static_cast<std::uint32_t>(r)});
        }
        first_.push_back(steps_.size());
        follow(all);
        match();
        ports_.resize(2 * n_, std::vector<std::int64_t>(states_, response::never));
        for (std::size_t p = 0; p < ports_.size(); ++p) ports_[p][n_ + p] = 0;
        ends_.assign(steps_.size() * states_, response::never);
    }

    response run() {
        for (std::uint32_t s = 0; s < steps_.size(); ++s)
            if (steps_[s].waits_for == 0) ready_.push_back(s);
        while (!ready_.empty()) {
            const std::uint32_t s = ready_.back();
            ready_.pop_back();
            run_step(s);
        }
        response made(n_);
        for (std::size_t r = 0; r < n_; ++r) {
            const after_states exit = made.delays(r);
            exit[r] = 0;
            for (std::size_t s = first_[r]; s < first_[r + 1]; ++s) wait_for(exit, end(s));
        }
        for (std::size_t p = 0; p < ports_.size(); ++p) std::ranges::copy(ports_[p], made.delays(n_ + p).begin());
        for (std::size_t s = 0; s < states_; ++s)
            for (std::int64_t& each : made.delays(s)) each = each < 0 ? response::never : each;
        return made;
    }

private:
    static constexpr std::uint32_t none = UINT32_MAX;

    struct numbered_step {
        const schedules::sized_step* what;
        std::uint32_t rank;
        std::uint32_t waits_for = 0;
        std::uint32_t other_side = none;  // of a message
        std::uint32_t first_follower = 0;
    };

    struct follower {
        std::uint32_t step;
        bool by_end;  ///< it waits for the end; else for its turn at the interface
    };

    static std::uint64_t key_of(std::uint64_t from, std::uint64_t to, std::uint32_t message) {
        return (from << 48) ^ (to << 32) ^ message;
    }
    bool takes(const numbered_step& s, step_kind port) const {
        return s.what->kind == port || (c_.synchronous && s.what->kind == step_kind::combine);
    }

    /// Which steps wait for which of their rank.
    void follow(std::span<const schedules::sized_schedule> all) {
        struct pair {
            std::uint32_t before;
            follower after;
        };
        std::vector<pair> pairs;
        for (std::size_t r = 0; r < n_; ++r) {
            std::array<std::uint32_t, 2> last{none, none};
            for (auto s = static_cast<std::uint32_t>(first_[r]); s < first_[r + 1]; ++s) {
                for (const std::uint32_t d : all[r].dependencies_of(s - first_[r]))
                    pairs.push_back({static_cast<std::uint32_t>(first_[r]) + d, {s, true}});
                for (const step_kind port : {step_kind::send, step_kind::recv}) {
                    if (!takes(steps_[s], port)) continue;
                    std::uint32_t& before = last[port == step_kind::send ? 0 : 1];
                    if (before != none) pairs.push_back({before, {s, false}});
                    before = s;
                }
            }
        }
        std::ranges::stable_sort(pairs, {}, &pair::before);
        std::uint32_t next = 0;
        for (const auto& [before, after] : pairs) {
            for (; next <= before; ++next) steps_[next].first_follower = static_cast<std::uint32_t>(followers_.size());
            followers_.push_back(after);
            ++steps_[after.step].waits_for;
        }
        for (; next < steps_.size(); ++next)
            steps_[next].first_follower = static_cast<std::uint32_t>(followers_.size());
    }
    void match() {
        std::unordered_map<std::uint64_t, std::uint32_t> sends;
        for (std::uint32_t s = 0; s < steps_.size(); ++s) {
            const schedules::sized_step& t = *steps_[s].what;
            if (t.kind == step_kind::send)
                sends[key_of(steps_[s].rank, static_cast<std::uint64_t>(t.peer), t.message)] = s;
        }
        for (std::uint32_t s = 0; s < steps_.size(); ++s) {
            const schedules::sized_step& t = *steps_[s].what;
            if (t.kind != step_kind::recv) continue;
            const std::uint32_t sent = sends.at(key_of(static_cast<std::uint64_t>(t.peer), steps_[s].rank, t.message));
            steps_[s].other_side = sent;
            steps_[sent].other_side = s;
            if (!c_.synchronous) ++steps_[s].waits_for;
        }
    }

    after_states end(std::size_t s) { return std::span(ends_).subspan(s * states_, states_); }
    std::vector<std::int64_t>& out(const numbered_step& s) { return ports_[s.rank]; }
    std::vector<std::int64_t>& in(const numbered_step& s) { return ports_[n_ + s.rank]; }

    /// What steps before it have left in its own end, and the arrival.
    after_states begin(std::uint32_t s) {
        const after_states t = end(s);
        t[steps_[s].rank] = std::max(t[steps_[s].rank], std::int64_t{0});
        return t;
    }

    void run_step(std::uint32_t s) {
        const numbered_step& me = steps_[s];
        switch (me.what->kind) {
            case step_kind::send: return c_.synchronous ? exchange(s, me.other_side) : send(s);
            case step_kind::recv: return c_.synchronous ? exchange(me.other_side, s) : receive(s);
            case step_kind::combine: combine(s); break;
            case step_kind::copy: (void)begin(s); break;
        }
        finish(s);
    }
    void finish(std::uint32_t s) {
        const std::uint32_t behind =
            s + 1 < steps_.size() ? steps_[s + 1].first_follower : static_cast<std::uint32_t>(followers_.size());
        for (std::uint32_t f = steps_[s].first_follower; f < behind; ++f) {
            if (followers_[f].by_end) wait_for(end(followers_[f].step), end(s));
            release(followers_[f].step);
        }
    }
    void release(std::uint32_t s) {
        if (--steps_[s].waits_for == 0) ready_.push_back(s);
    }

    void combine(std::uint32_t s) {
        const numbered_step& me = steps_[s];
        const after_states t = begin(s);
        if (c_.synchronous) {
            wait_for(t, out(me));
            wait_for(t, in(me));
        }
        add(t, whole_ns(c_.combine * static_cast<double>(me.what->bytes)) + me.what->work);
        if (c_.synchronous) {
            std::ranges::copy(t, out(me).begin());
            std::ranges::copy(t, in(me).begin());
        }
    }
    /// Once both sides are there, it takes both interfaces.
    void exchange(std::uint32_t from, std::uint32_t to) {
        if (steps_[from].waits_for != 0 || steps_[to].waits_for != 0) return;
        steps_[from].waits_for = none;  // the other side was ready, too
        const after_states t = begin(from);
        wait_for(t, begin(to));
        wait_for(t, out(steps_[from]));
        wait_for(t, in(steps_[to]));
        add(t, c_.span(steps_[from].what->bytes));
        std::ranges::copy(t, end(to).begin());
        std::ranges::copy(t, out(steps_[from]).begin());
        std::ranges::copy(t, in(steps_[to]).begin());
        finish(from);
        finish(to);
    }
    /// Ends when its last byte has left.
    void send(std::uint32_t s) {
        const numbered_step& me = steps_[s];
        const after_states t = begin(s);
        add(t, whole_ns(c_.o));
        wait_for(t, out(me));
        add(t, c_.span(me.what->bytes));
        std::ranges::copy(t, out(me).begin());
        add(out(me), whole_ns(c_.by_processor ? c_.o : c_.g));
        finish(s);
        release(me.other_side);
    }
    void receive(std::uint32_t s) {
        const numbered_step& me = steps_[s];
        std::ranges::copy(end(me.other_side), begin_.begin());
        add(begin_, whole_ns(c_.L));  // the last byte comes in
        if (!c_.by_processor) {
            add(in(me), c_.span(me.what->bytes));
            wait_for(begin_, in(me));
            std::ranges::copy(begin_, in(me).begin());
            add(in(me), whole_ns(c_.g));
        }
        const after_states t = begin(s);
        wait_for(t, begin_);
        add(t, whole_ns(c_.o));
        finish(s);
    }

    costs c_;
    std::size_t n_;
    std::size_t states_;
    std::vector<numbered_step> steps_{};
    std::vector<std::size_t> first_{};  // of each rank, and the end
    std::vector<follower> followers_{};
    std::vector<std::vector<std::int64_t>>
        ports_{};  // when each interface is free to send, then when each is to receive
    std::vector<std::int64_t> begin_;
    std::vector<std::int64_t> ends_{};
    std::vector<std::uint32_t> ready_{};
};

}  // namespace

void response::pass(std::span<const std::int64_t> before, std::span<std::int64_t> after) const {
    const std::int64_t* row = delays_.data();
    for (std::int64_t& state : after) {
        state = never;
        for (std::size_t q = 0; q < before.size(); ++q) state = std::max(state, before[q] + row[q]);
        row += before.size();
    }
}

void response::leave(std::span<const std::int64_t> arrivals, std::span<std::int64_t> exits) const {
    std::vector<std::int64_t> before(3 * ranks_, never);
    std::ranges::copy(arrivals, before.begin());
    std::vector<std::int64_t> after(before.size());
    pass(before, after);
    std::ranges::copy(std::span(after).first(ranks_), exits.begin());
}

std::optional<response> response_of(std::span<const schedules::sized_schedule> all, const model& m) {
    std::size_t steps = 0;
    for (const schedules::sized_schedule& s : all) steps += s.steps.size();
    if (steps * all.size() > most_work) return std::nullopt;
    return longest_ways(all, costs_of(m)).run();
}

}  // namespace rubato::simulator
