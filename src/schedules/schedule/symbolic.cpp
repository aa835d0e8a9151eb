// The run is the strictest that a schedule may meet, see verify.hpp.
#include "schedules/schedule/symbolic.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace rubato::schedules {
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

using buffer_values = std::vector<std::optional<value>>;
using rank_set = std::vector<bool>;

void join(rank_set& all, const rank_set& more) {
    for (std::size_t r = 0; r < more.size(); ++r)
        if (more[r]) all[r] = true;
}

/// Numbers expressions: those that give the same bits have the same number, and a rank's input has its rank. The order
/// of operands counts: of 0 and -0, or of a number and NaN, a maximum may be the left one. So does the place among the
/// blocks that a step combines: where elements do not fill a vector of the processor, Open MPI takes the other one.
class expressions {
public:
    explicit expressions(std::int32_t ranks) : next_(static_cast<std::uint32_t>(ranks)) {}

    /// The k-th of `count` blocks that are combined at once.
    std::uint32_t combined(std::uint32_t left, std::uint32_t right, std::uint32_t k, std::uint32_t count) {
        const auto [at, is_new] = known_.try_emplace({left, right, k, count}, next_);
        if (is_new) ++next_;
        return at->second;
    }

private:
    std::map<std::array<std::uint32_t, 4>, std::uint32_t> known_{};
    std::uint32_t next_;
};

struct rank_state {
    std::array<buffer_values, 3> buffers{};
    std::vector<bool> done{};
    std::vector<rank_set> arrived{};  // of a barrier: who must have arrived before each step ends
    queue sends{}, recvs{}, local{};
};

class symbolic_run {
public:
    symbolic_run(const problem& p, const promises& promised, std::span<const schedule> all, bool same_bits,
                 findings& found)
        : p_(p),
          moves_data_(traits(p.what).moves_data()),
          same_bits_(same_bits),
          promised_(promised),
          all_(all),
          found_(found),
          states_(all.size()),
          expressions_(p.ranks) {
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
        if (found_.empty() && same_bits_) compare_outputs();
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
        for (block b = 0; b < promised_.blocks(r, buffer::input); ++b) {
            input.emplace_back(promised_.at_start(r, b));
            input.back()->expression = static_cast<std::uint32_t>(r);
        }
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
                combine(r, s, *from, k);
        }
        state(r).done[s] = true;
        local.pop();
        return true;
    }

    void combine(std::int32_t r, std::size_t s, const value& left, std::uint32_t k) {
        const step& t = of(r).steps[s];
        const block target = t.target + k;
        std::optional<value>& into = at(r, t.to, target);
        if (!into) return found_.say_step(r, s, "block {} of its target holds nothing yet", target);
        if (left.origin != into->origin)
            return found_.say_step(r, s, "it combines block {} with block {}", left.origin, into->origin);
        const auto twice = contributions::in_both(*left.by, *into->by);
        if (twice && !p_.idempotent)
            return found_.say_step(r, s, "the contribution of rank {} is counted twice", *twice);
        into->by = std::make_shared<contributions>(contributions::join(*left.by, *into->by));
        if (same_bits_) into->expression = expressions_.combined(left.expression, into->expression, k, t.count);
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

    /// Blocks of one origin and the same contributions hold the same bits if they are the same expression.
    void compare_outputs() {
        struct result {
            std::int32_t first;  // rank that has it
            std::uint32_t expression;
        };
        std::map<std::pair<block, std::vector<bool>>, result> results;
        for (std::int32_t r = 0; r < p_.ranks; ++r) {
            for (block b = 0; b < promised_.blocks(r, buffer::output); ++b) {
                const std::optional<value>& have = at(r, buffer::output, b);
                if (!have) continue;
                const auto [known, is_new] =
                    results.try_emplace({have->origin, have->by->from}, result{r, have->expression});
                if (known->second.expression == have->expression) continue;
                found_.say("rank {}, output block {}: combined in another way than on rank {}, so bits may differ", r,
                           b, known->second.first);
                break;  // the other blocks of this rank tell nothing new
            }
        }
    }

    const problem& p_;
    bool moves_data_;
    bool same_bits_;
    const promises& promised_;
    std::span<const schedule> all_;
    findings& found_;
    std::vector<rank_state> states_;
    expressions expressions_;
};

}  // namespace

void run_symbolically(const problem& p, const promises& promised, std::span<const schedule> all, bool same_bits,
                      findings& found) {
    symbolic_run(p, promised, all, same_bits, found).run();
}

}  // namespace rubato::schedules
