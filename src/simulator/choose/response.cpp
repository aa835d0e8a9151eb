#include "simulator/choose/response.hpp"

#include "base/core/overloaded.hpp"
#include "simulator/simulate/run.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>
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
    bool by_processor = false;            ///< which sends, and is busy until the last byte has left
    std::int64_t rendezvous = INT64_MAX;  ///< so many bytes wait for their receiver

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
                         [&](const loggp& n) {
                             costs c = buffered(n);
                             c.rendezvous = n.rendezvous;
                             return c;
                         },
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
    longest_ways(std::span<const schedules::sized_schedule> all, const model& m, const shared_hosts& where)
        : c_{costs_of(m), costs_of(where.inside != nullptr ? *where.inside : m)},
          where_(where),
          n_(all.size()),
          states_(3 * n_),
          begin_(states_) {
        for (std::size_t r = 0; r < n_; ++r) {
            first_.push_back(steps_.size());
            for (const schedules::sized_step& s : all[r].steps) {
                steps_.push_back({&s, static_cast<std::uint32_t>(r)});
                steps_.back().link = link_of(r, s);
            }
        }
        first_.push_back(steps_.size());
        for (std::size_t r = 0; r < n_; ++r) home_.push_back(first_on_host(r));
        follow(all);
        match();
        ports_.resize(4 * n_, std::vector<std::int64_t>(states_, response::never));
        for (std::size_t p = 0; p < 2 * n_; ++p) ports_[p][n_ + p] = 0;
        ends_.assign(steps_.size() * states_, response::never);
        usual_.resize(states_);
        for (std::size_t r = 0; r < where.arrivals.size(); ++r) usual_[r] = where.arrivals[r].count();
    }

    /// Nothing if messages wait for each other.
    std::optional<response> run() {
        for (std::uint32_t s = 0; s < steps_.size(); ++s)
            if (steps_[s].waits_for == 0) make_ready(s);
        for (std::uint32_t s = 0; s < steps_.size(); ++s) let_send(s);
        while (!ready_.empty()) {
            const std::uint32_t s = ready_.top().step;
            ready_.pop();
            run_step(s);
        }
        if (finished_ < steps_.size()) return std::nullopt;
        response made(n_);
        for (std::size_t r = 0; r < n_; ++r) {
            const after_states exit = made.delays(r);
            exit[r] = 0;
            for (std::size_t s = first_[r]; s < first_[r + 1]; ++s) wait_for(exit, end(s));
        }
        for (std::size_t p = 0; p < 2 * n_; ++p) std::ranges::copy(ports_[p], made.delays(n_ + p).begin());
        for (std::size_t s = 0; s < states_; ++s)
            for (std::int64_t& each : made.delays(s)) each = each < 0 ? response::never : each;
        return made;
    }

private:
    static constexpr std::uint32_t none = UINT32_MAX;

    struct numbered_step {
        const schedules::sized_step* what;
        std::uint32_t rank;
        link_kind link = between;  // of a message
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
    bool shares() const { return !where_.hosts.empty(); }
    link_kind link_of(std::size_t r, const schedules::sized_step& s) const {
        if (!shares()) return between;
        const bool message = s.kind == step_kind::send || s.kind == step_kind::recv;
        return !message || where_.hosts[r] == where_.hosts[static_cast<std::size_t>(s.peer)] ? within : between;
    }
    std::size_t first_on_host(std::size_t r) const {
        if (!shares()) return r;
        return static_cast<std::size_t>(std::ranges::find(where_.hosts, where_.hosts[r]) - where_.hosts.begin());
    }
    const costs& cost(const numbered_step& s) const { return c_[s.link]; }
    bool is_synchronous() const { return c_[between].synchronous; }
    bool takes(const numbered_step& s, step_kind port) const {
        return s.what->kind == port || (is_synchronous() && s.what->kind == step_kind::combine);
    }

    /// Which steps wait for which of their rank.
    void follow(std::span<const schedules::sized_schedule> all) {
        struct pair {
            std::uint32_t before;
            follower after;
        };
        std::vector<pair> pairs;
        for (std::size_t r = 0; r < n_; ++r) {
            std::array<std::uint32_t, 4> last{none, none, none, none};  // at each interface
            for (auto s = static_cast<std::uint32_t>(first_[r]); s < first_[r + 1]; ++s) {
                for (const std::uint32_t d : all[r].dependencies_of(s - first_[r]))
                    pairs.push_back({static_cast<std::uint32_t>(first_[r]) + d, {s, true}});
                for (const step_kind port : {step_kind::send, step_kind::recv}) {
                    if (!takes(steps_[s], port)) continue;
                    std::uint32_t& before = last[(port == step_kind::send ? 0U : 1U) + 2U * steps_[s].link];
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
            if (is_synchronous()) continue;
            ++steps_[s].waits_for;
            if (waits_for_receiver(steps_[s])) ++steps_[sent].waits_for;
        }
    }
    bool waits_for_receiver(const numbered_step& s) const { return s.what->bytes >= cost(s).rendezvous; }
    /// A receive that waits for nothing but a large message.
    void let_send(std::uint32_t s) {
        const numbered_step& me = steps_[s];
        if (me.what->kind == step_kind::recv && !is_synchronous() && me.waits_for == 1 && waits_for_receiver(me))
            release(me.other_side);
    }
    std::int64_t usually(std::span<const std::int64_t> t) const {
        std::int64_t time = 0;
        for (std::size_t q = 0; q < states_; ++q) time = std::max(time, t[q] + usual_[q]);
        return time;
    }
    /// Where interfaces are shared, those come first that usually do.
    void make_ready(std::uint32_t s) {
        std::int64_t time = 0;
        if (shares()) {
            time = usually(begin(s));
            const numbered_step& me = steps_[s];
            if (me.what->kind == step_kind::recv && !is_synchronous())
                time = usually(end(me.other_side)) + whole_ns(cost(me).L);
        }
        ready_.push({time, s});
    }

    after_states end(std::size_t s) { return std::span(ends_).subspan(s * states_, states_); }
    std::vector<std::int64_t>& out(const numbered_step& s) {
        return ports_[s.link == within ? 2 * n_ + s.rank : home_[s.rank]];
    }
    std::vector<std::int64_t>& in(const numbered_step& s) {
        return ports_[s.link == within ? 3 * n_ + s.rank : n_ + home_[s.rank]];
    }

    /// What steps before it have left in its own end, and the arrival.
    after_states begin(std::uint32_t s) {
        const after_states t = end(s);
        t[steps_[s].rank] = std::max(t[steps_[s].rank], std::int64_t{0});
        return t;
    }

    void run_step(std::uint32_t s) {
        const numbered_step& me = steps_[s];
        switch (me.what->kind) {
            case step_kind::send: return is_synchronous() ? exchange(s, me.other_side) : send(s);
            case step_kind::recv: return is_synchronous() ? exchange(me.other_side, s) : receive(s);
            case step_kind::combine: combine(s); break;
            case step_kind::copy: (void)begin(s); break;
        }
        finish(s);
    }
    void finish(std::uint32_t s) {
        ++finished_;
        const std::uint32_t behind =
            s + 1 < steps_.size() ? steps_[s + 1].first_follower : static_cast<std::uint32_t>(followers_.size());
        for (std::uint32_t f = steps_[s].first_follower; f < behind; ++f) {
            if (followers_[f].by_end) wait_for(end(followers_[f].step), end(s));
            release(followers_[f].step);
        }
    }
    void release(std::uint32_t s) {
        if (--steps_[s].waits_for == 0) return make_ready(s);
        let_send(s);
    }

    void combine(std::uint32_t s) {
        const numbered_step& me = steps_[s];
        const after_states t = begin(s);
        if (is_synchronous()) {
            wait_for(t, out(me));
            wait_for(t, in(me));
        }
        add(t, whole_ns(cost(me).combine * static_cast<double>(me.what->bytes)) + me.what->work);
        if (is_synchronous()) {
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
        add(t, cost(steps_[from]).span(steps_[from].what->bytes));
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
        const costs& c = cost(me);
        if (waits_for_receiver(me)) wait_for(t, begin(me.other_side));
        add(t, whole_ns(c.o));
        wait_for(t, out(me));
        add(t, c.span(me.what->bytes));
        std::ranges::copy(t, out(me).begin());
        add(out(me), whole_ns(c.by_processor ? c.o : c.g));
        finish(s);
        release(me.other_side);
    }
    void receive(std::uint32_t s) {
        const numbered_step& me = steps_[s];
        const costs& c = cost(me);
        std::ranges::copy(end(me.other_side), begin_.begin());
        add(begin_, whole_ns(c.L));  // the last byte comes in
        if (!c.by_processor) {
            add(in(me), c.span(me.what->bytes));
            wait_for(begin_, in(me));
            std::ranges::copy(begin_, in(me).begin());
            add(in(me), whole_ns(c.g));
        }
        const after_states t = begin(s);
        wait_for(t, begin_);
        add(t, whole_ns(c.o));
        finish(s);
    }

    struct ready_step {
        std::int64_t time;
        std::uint32_t step;

        auto operator<=>(const ready_step&) const = default;
    };

    std::array<costs, 2> c_;  // by link
    const shared_hosts& where_;
    std::size_t n_;
    std::size_t states_;
    std::vector<numbered_step> steps_{};
    std::vector<std::size_t> first_{};  // of each rank, and the end
    std::vector<std::size_t> home_{};   // of each rank, the one whose interfaces to the network it uses
    std::vector<follower> followers_{};
    // When each interface is free to send, then when each is to receive; then the same of those within hosts.
    std::vector<std::vector<std::int64_t>> ports_{};
    std::vector<std::int64_t> begin_;
    std::vector<std::int64_t> ends_{};
    std::vector<std::int64_t> usual_{};  // states
    std::priority_queue<ready_step, std::vector<ready_step>, std::greater<>> ready_{};
    std::size_t finished_ = 0;
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

std::optional<response> response_of(std::span<const schedule> all, const layout& sizes, const model& m,
                                    const shared_hosts& where) {
    std::size_t steps = 0;
    for (const schedule& s : all) steps += s.steps.size();
    if (steps * all.size() > most_work) return std::nullopt;
    std::vector<schedules::sized_schedule> sized(all.size());
    for (std::size_t r = 0; r < all.size(); ++r) schedules::size_schedule(all[r], sizes, sized[r]);
    return longest_ways(sized, m, where).run();
}

}  // namespace rubato::simulator
