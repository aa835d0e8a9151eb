// The run is the strictest that a schedule may meet, see verify.hpp.
#include "schedule/symbolic.hpp"

#include <algorithm>
#include <array>

namespace rubato {
namespace {

/// Steps of one kind in their order.
class queue {
public:
    void push(std::size_t s) { steps_.push_back(s); }
    void pop() { ++done_; }
    bool empty() const { return done_ == steps_.size(); }
    std::size_t front() const { return steps_[done_]; }
    /// All steps before this one are done.
    bool reached(std::size_t s) const { return empty() || front() >= s; }

private:
    std::vector<std::size_t> steps_{};
    std::size_t done_ = 0;
};

using memory = std::vector<std::optional<value>>;
using rank_set = std::vector<bool>;

void join(rank_set& all, const rank_set& more) {
    for (std::size_t r = 0; r < more.size(); ++r)
        if (more[r]) all[r] = true;
}

struct rank_state {
    std::array<memory, 3> buffers{};
    std::vector<bool> done{};
    std::vector<rank_set> arrived{};  // of a barrier: who must have arrived before each step ends
    queue sends{}, recvs{}, local{};
};

class symbolic_run {
public:
    symbolic_run(const problem& p, const promises& promised, std::span<const schedule> all, findings& found)
        : p_(p),
          moves_data_(traits(p.what).moves_data()),
          promised_(promised),
          all_(all),
          found_(found),
          states_(all.size()) {
        for (std::int32_t r = 0; r < p_.ranks; ++r) start(r);
    }

    void run() {
        for (bool moved = true; moved && found_.empty();) {
            moved = false;
            for (std::int32_t r = 0; r < p_.ranks; ++r)
                while (found_.empty() && (run_local(r) || send(r))) moved = true;
        }
        if (found_.empty()) report_stuck();
        if (!found_.empty()) return;
        if (!moves_data_) return check_arrivals();
        for (std::int32_t r = 0; r < p_.ranks; ++r) check_output(r);
    }

private:
    const schedule& of(std::int32_t r) const { return all_[static_cast<std::size_t>(r)]; }
    rank_state& state(std::int32_t r) { return states_[static_cast<std::size_t>(r)]; }
    std::optional<value>& at(std::int32_t r, buffer b, block i) {
        return state(r).buffers[static_cast<std::size_t>(b)][i];
    }

    void start(std::int32_t r) {
        const schedule& s = of(r);
        rank_state& mine = state(r);
        auto& [input, output, scratch] = mine.buffers;
        for (block b = 0; b < promised_.blocks(r, buffer::input); ++b) input.emplace_back(promised_.at_start(r, b));
        output.resize(promised_.blocks(r, buffer::output));
        scratch.resize(s.scratch.size());
        mine.done.resize(s.steps.size());
        if (!moves_data_) mine.arrived.resize(s.steps.size(), rank_set(all_.size()));
        for (std::size_t i = 0; i < s.steps.size(); ++i) {
            const step_kind k = s.steps[i].kind;
            (k == step_kind::send ? mine.sends : k == step_kind::recv ? mine.recvs : mine.local).push(i);
        }
    }

    /// Nothing overtakes a local step, and a combine overtakes no message: some models never do both at once.
    bool ready(std::int32_t r, std::size_t s) {
        const rank_state& mine = state(r);
        if (!mine.local.reached(s)) return false;
        if (of(r).steps[s].kind == step_kind::combine && !(mine.sends.reached(s) && mine.recvs.reached(s)))
            return false;
        return std::ranges::all_of(of(r).dependencies_of(s), [&mine](std::uint32_t d) { return mine.done[d]; });
    }

    /// The block that step s moves as its k-th.
    const value* moved_block(std::int32_t r, std::size_t s, std::uint32_t k) {
        const step& t = of(r).steps[s];
        const std::optional<value>& v = at(r, t.from, t.source + k);
        if (!v) {
            found_.say_step(r, s, "block {} of its source holds nothing yet", t.source + k);
            return nullptr;
        }
        // Scratch has room for larger blocks than it holds, so a step could move too little or too much of it.
        if (promised_.size(*v) != promised_.size(r, t.kind == step_kind::send ? t.from : t.to, t.shape + k)) {
            found_.say_step(r, s, "what block {} holds is not as large as what is moved", t.source + k);
            return nullptr;
        }
        return &*v;
    }

    /// Runs the next local step. False: it cannot run yet.
    bool run_local(std::int32_t r) {
        queue& local = state(r).local;
        if (local.empty() || !ready(r, local.front())) return false;
        const std::size_t s = local.front();
        const step& t = of(r).steps[s];
        for (std::uint32_t k = 0; k < t.count && found_.empty(); ++k) {
            const value* from = moved_block(r, s, k);
            if (!from) break;
            if (t.kind == step_kind::copy)
                at(r, t.to, t.target + k) = *from;
            else
                combine(r, s, *from, t.target + k);
        }
        state(r).done[s] = true;
        local.pop();
        return true;
    }

    void combine(std::int32_t r, std::size_t s, const value& left, block target) {
        std::optional<value>& into = at(r, of(r).steps[s].to, target);
        if (!into) return found_.say_step(r, s, "block {} of its target holds nothing yet", target);
        if (left.origin != into->origin)
            return found_.say_step(r, s, "it combines block {} with block {}", left.origin, into->origin);
        const auto twice = contributions::in_both(*left.by, *into->by);
        if (twice && !p_.idempotent)
            return found_.say_step(r, s, "the contribution of rank {} is counted twice", *twice);
        into->by = std::make_shared<contributions>(contributions::join(*left.by, *into->by));
    }

    /// Sends the next message if the receiver is at it too.
    bool send(std::int32_t r) {
        rank_state& mine = state(r);
        if (mine.sends.empty() || !ready(r, mine.sends.front())) return false;
        const std::size_t s = mine.sends.front();
        const step& out = of(r).steps[s];
        rank_state& theirs = state(out.peer);
        if (theirs.recvs.empty()) return false;
        const std::size_t other = theirs.recvs.front();
        const step& in = of(out.peer).steps[other];
        if (in.peer != r || !ready(out.peer, other)) return false;  // of a pair, messages are listed in their order
        for (std::uint32_t k = 0; k < out.count; ++k) {
            const value* v = moved_block(r, s, k);
            if (!v) break;
            at(out.peer, in.to, in.target + k) = *v;
        }
        if (!moves_data_) tell_arrivals(r, s, out.peer, other);
        mine.done[s] = theirs.done[other] = true;
        mine.sends.pop();
        theirs.recvs.pop();
        return true;
    }

    /// For barriers: the receiver of a message learns of all arrivals that the send had to wait for.
    void tell_arrivals(std::int32_t r, std::size_t s, std::int32_t peer, std::size_t other) {
        rank_set& sent = state(r).arrived[s];
        rank_set& received = state(peer).arrived[other];
        sent[static_cast<std::size_t>(r)] = of(r).steps[s].needs_arrival();
        for (const std::uint32_t d : of(r).dependencies_of(s)) join(sent, state(r).arrived[d]);
        for (const std::uint32_t d : of(peer).dependencies_of(other)) join(received, state(peer).arrived[d]);
        join(received, sent);
    }

    void report_stuck() {
        for (std::int32_t r = 0; r < p_.ranks; ++r) {
            const auto& done = state(r).done;
            const auto first = std::ranges::find(done, false);
            if (first != done.end())
                found_.say_step(r, static_cast<std::size_t>(first - done.begin()), "deadlock: it never gets its turn");
        }
    }

    void check_arrivals() {
        for (std::int32_t r = 0; r < p_.ranks; ++r) {
            rank_set all(all_.size());
            all[static_cast<std::size_t>(r)] = true;
            for (const rank_set& arrived : state(r).arrived) join(all, arrived);
            for (std::size_t c = 0; c < all.size(); ++c)
                if (!all[c]) found_.say("rank {} leaves the barrier without knowing that rank {} has arrived", r, c);
        }
    }

    void check_output(std::int32_t r) {
        for (block b = 0; b < promised_.blocks(r, buffer::output); ++b) {
            const std::optional<value> promised = promised_.at_end(r, b);
            const std::optional<value>& have = at(r, buffer::output, b);
            if (!promised) {
                if (have)
                    found_.say("rank {}, output block {}: nobody sends it, and it holds {}", r, b, to_string(*have));
                continue;
            }
            const value& want = *promised;
            if (!have || have->origin != want.origin || have->by->from != want.by->from)
                found_.say("rank {}, output block {}: expected {}, found {}", r, b, to_string(want),
                           have ? to_string(*have) : "nothing");
            else if (!p_.commutative && !have->by->in_order)
                found_.say("rank {}, output block {}: all contributions are there, but not in the order of ranks", r,
                           b);
        }
    }

    const problem& p_;
    bool moves_data_;
    const promises& promised_;
    std::span<const schedule> all_;
    findings& found_;
    std::vector<rank_state> states_;
};

}  // namespace

void run_symbolically(const problem& p, const promises& promised, std::span<const schedule> all, findings& found) {
    symbolic_run(p, promised, all, found).run();
}

}  // namespace rubato
