#include "rubato/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

namespace rubato {
namespace {

/// Ranks whose contributions a value holds, in the order of the operands where that is the order of ranks.
struct contributions {
    std::vector<bool> from{};
    std::int32_t low = 0;  // lowest and highest contributor
    std::int32_t high = -1;
    bool in_order = true;  // exactly low..high, as operands in that order

    static contributions interval(std::int32_t ranks, std::int32_t low, std::int32_t high) {
        contributions c{std::vector<bool>(static_cast<std::size_t>(ranks)), low, high, true};
        for (std::int32_t r = low; r <= high; ++r) c.from[static_cast<std::size_t>(r)] = true;
        return c;
    }
    std::string text() const {
        if (in_order && high > low) return fmt::format("{}..{}", low, high);
        std::vector<std::size_t> ranks;
        for (std::size_t r = 0; r < from.size(); ++r)
            if (from[r]) ranks.push_back(r);
        return fmt::format("{}", fmt::join(ranks, ","));
    }
};

/// What a block holds: `origin`, a block of the input, as contributed by some ranks.
struct value {
    block origin = 0;
    std::shared_ptr<const contributions> by{};
};

std::string text(const std::optional<value>& v) {
    if (!v) return "nothing";
    return fmt::format("input block {} of {}", v->origin, v->by->text());
}

/// Tells sizes apart: two blocks have one size if and only if their keys are equal.
using size_key = std::pair<std::int64_t, std::int64_t>;

class checker {
public:
    checker(const problem& p, std::span<const schedule> all) : p_(p), t_(traits(p.what)), all_(all) {}

    std::vector<std::string> run() {
        if (all_.size() != static_cast<std::size_t>(p_.ranks)) {
            say("there are {} schedules for {} ranks", all_.size(), p_.ranks);
            return found_;
        }
        for (std::int32_t r = 0; r < p_.ranks; ++r) check_form(r);
        if (found_.empty()) match_messages();
        if (!found_.empty()) return found_;
        for (std::int32_t r = 0; r < p_.ranks; ++r)
            for (const race& c : find_races(of(r)))
                say("rank {}, step {} ({}): it touches what step {} ({}) touches, and does not wait for it", r, c.later,
                    to_string(of(r).steps[c.later]), c.earlier, to_string(of(r).steps[c.earlier]));
        if (!found_.empty()) return found_;
        execute();
        if (found_.empty()) check_result();
        return found_;
    }

private:
    using memory = std::vector<std::optional<value>>;

    const schedule& of(std::int32_t r) const { return all_[static_cast<std::size_t>(r)]; }

    template <class... Args>
    void say(fmt::format_string<Args...> format, Args&&... args) {
        found_.push_back(fmt::format(format, std::forward<Args>(args)...));
    }
    template <class... Args>
    void say_step(std::int32_t r, std::size_t s, fmt::format_string<Args...> format, Args&&... args) {
        say("rank {}, step {} ({}): {}", r, s, to_string(of(r).steps[s]),
            fmt::format(format, std::forward<Args>(args)...));
    }

    std::size_t blocks(std::int32_t r, buffer b) const {
        const schedule& s = of(r);
        if (b == buffer::scratch) return s.scratch.size();
        const bool at_root = r == p_.root.value;
        const bool spreads = t_.rooted && !t_.reduces && !t_.wide_output;  // bcast, scatter, scatterv
        if (p_.what == collective::barrier) return 0;
        if (b == buffer::input && spreads && !at_root) return 0;
        if (b == buffer::output && t_.rooted && (p_.what == collective::bcast ? at_root : !spreads && !at_root))
            return 0;
        const bool wide = b == buffer::input ? t_.wide_input : t_.wide_output;
        return (wide ? static_cast<std::size_t>(p_.ranks) : 1) * s.parts;
    }

    size_key key(std::int32_t me, buffer where, block b) const {
        const std::int64_t parts = of(me).parts;
        if (!t_.irregular) return {b % parts, 0};
        switch (p_.what) {
            case collective::scatterv: return {where == buffer::input ? b : me * parts + b, 0};
            case collective::alltoallv:
                return where == buffer::input ? size_key{me * parts * p_.ranks + b, 1}
                                              : size_key{b / parts * parts * p_.ranks + me * parts + b % parts, 1};
            default: return {where == buffer::input ? me * parts + b : b, 0};
        }
    }

    /// Is every step well formed, and does what it moves fit where it lies?
    void check_form(std::int32_t r) {
        const schedule& s = of(r);
        if (s.parts != of(0).parts) say("rank {} cuts chunks into {} parts, rank 0 into {}", r, s.parts, of(0).parts);
        if (s.parts == 0 || s.first_dependency.size() != s.steps.size() + 1) {
            say("rank {}: the schedule is malformed", r);
            return;
        }
        for (std::size_t i = 0; i < s.steps.size(); ++i) {
            const step& t = s.steps[i];
            for (const std::uint32_t d : s.dependencies_of(i))
                if (d >= i) say_step(r, i, "it waits for step {}, which does not come before it", d);
            if (t.is_message() && (t.peer < 0 || t.peer >= p_.ranks || t.peer == r))
                say_step(r, i, "there is no such peer");
            if (!t.is_message() && t.count == 0) say_step(r, i, "it moves nothing");
            if (t.kind == step_kind::combine && !t_.reduces) say_step(r, i, "a {} combines nothing", t_.name);
            if (!t.is_message() && t.from == t.to && t.source < std::size_t{t.target} + t.count &&
                t.target < std::size_t{t.source} + t.count)
                say_step(r, i, "its source and its target overlap");
            if (t.writes() && t.to == buffer::input) say_step(r, i, "the input is not to be written");
            const buffer shape_of = t.kind == step_kind::send ? t.from : t.to;
            if (t.reads()) check_place(r, i, t.from, t.source, shape_of);
            if (t.writes()) check_place(r, i, t.to, t.target, shape_of);
        }
    }

    void check_place(std::int32_t r, std::size_t i, buffer where, block first, buffer shape_of) {
        const step& t = of(r).steps[i];
        if (std::size_t{first} + t.count > blocks(r, where)) {
            say_step(r, i, "there are only {} such blocks", blocks(r, where));
            return;
        }
        const std::uint32_t parts = of(r).parts;
        if (t_.irregular && where != buffer::scratch && first / parts != (first + t.count - 1) / parts)
            say_step(r, i, "chunks need not lie one after the other");
        if (where == buffer::scratch && t_.irregular && t_.rooted)
            for (std::uint32_t k = 0; k < t.count; ++k) {
                const auto chunk = static_cast<std::int32_t>(of(r).scratch[first + k] / parts);
                if (p_.what == collective::scatterv ? chunk != 0 : (r != p_.root.value && chunk != r))
                    say_step(r, i, "rank {} does not know the size of scratch block {}", r, first + k);
            }
        for (std::uint32_t k = 0; k < t.count; ++k) {
            const size_key moved = key(r, shape_of, t.shape + k);
            if (where != buffer::scratch) {
                if (key(r, where, first + k) != moved)
                    say_step(r, i, "block {} is not as large as what is moved", first + k);
                continue;
            }
            const size_key room = key(r, buffer::scratch, of(r).scratch[first + k]);
            // Of equal chunks, earlier parts are never smaller; but only the last of several may leave a gap.
            const bool fits = t_.irregular || k + 1 < t.count ? room == moved : room <= moved;
            if (!fits) say_step(r, i, "scratch block {} is not as large as what is moved", first + k);
        }
    }

    /// Every message is sent once and received once, with the same sizes.
    void match_messages() {
        std::map<std::tuple<std::int32_t, std::int32_t, std::uint32_t>, std::pair<std::int64_t, std::int64_t>> ends;
        for (std::int32_t r = 0; r < p_.ranks; ++r) {
            for (std::size_t i = 0; i < of(r).steps.size(); ++i) {
                const step& t = of(r).steps[i];
                if (!t.is_message()) continue;
                const bool send = t.kind == step_kind::send;
                auto& both = ends.try_emplace({send ? r : t.peer, send ? t.peer : r, t.message}, -1, -1).first->second;
                std::int64_t& end = send ? both.first : both.second;
                if (end >= 0)
                    say_step(r, i, "step {} already {} this message", end, send ? "sends" : "receives");
                else
                    end = static_cast<std::int64_t>(i);
            }
        }
        for (const auto& [id, both] : ends) {
            const auto [from, to, number] = id;
            if (both.first < 0) {
                say_step(to, static_cast<std::size_t>(both.second), "rank {} never sends this message", from);
            } else if (both.second < 0) {
                say_step(from, static_cast<std::size_t>(both.first), "rank {} never receives this message", to);
            } else {
                const step& out = of(from).steps[static_cast<std::size_t>(both.first)];
                const step& in = of(to).steps[static_cast<std::size_t>(both.second)];
                bool same = out.count == in.count;
                for (std::uint32_t k = 0; same && k < in.count; ++k)
                    same = key(from, out.from, out.shape + k) == key(to, in.to, in.shape + k);
                if (!same)
                    say_step(to, static_cast<std::size_t>(both.second),
                             "its size is not that of rank {}'s step {} ({})", from, both.first, to_string(out));
            }
        }
    }

    struct state {
        std::array<memory, 3> buffers{};
        std::vector<bool> done{};
        std::vector<std::size_t> local{}, sends{}, recvs{};  // steps in order
        std::size_t next_local = 0, next_send = 0, next_recv = 0;
    };

    std::optional<value>& at(std::int32_t r, buffer b, block i) {
        return states_[static_cast<std::size_t>(r)].buffers[static_cast<std::size_t>(b)][i];
    }

    /// Have the steps it waits for ended, and the local steps listed before it?
    bool ready(std::int32_t r, std::size_t s) const {
        const state& st = states_[static_cast<std::size_t>(r)];
        if (st.next_local < st.local.size() && st.local[st.next_local] < s) return false;
        return std::ranges::all_of(of(r).dependencies_of(s), [&st](std::uint32_t d) { return st.done[d]; });
    }

    void execute() {
        states_.resize(all_.size());
        for (std::int32_t r = 0; r < p_.ranks; ++r) {
            state& st = states_[static_cast<std::size_t>(r)];
            for (const buffer b : {buffer::input, buffer::output, buffer::scratch})
                st.buffers[static_cast<std::size_t>(b)].resize(blocks(r, b));
            const bool has_input =
                p_.what != collective::barrier && (r == p_.root.value || !t_.rooted || t_.reduces ||
                                                   p_.what == collective::gather || p_.what == collective::gatherv);
            const auto own = std::make_shared<contributions>(contributions::interval(p_.ranks, r, r));
            for (block b = 0; has_input && b < blocks(r, buffer::input); ++b) at(r, buffer::input, b) = value{b, own};
            st.done.resize(of(r).steps.size());
            for (std::size_t i = 0; i < of(r).steps.size(); ++i) {
                const step_kind k = of(r).steps[i].kind;
                (k == step_kind::send ? st.sends : k == step_kind::recv ? st.recvs : st.local).push_back(i);
            }
        }
        bool moved = true;
        while (moved && found_.empty()) {
            moved = false;
            for (std::int32_t r = 0; r < p_.ranks && found_.empty(); ++r) moved |= advance(r);
        }
        if (found_.empty()) report_stuck();
    }

    /// Runs what rank r can run now: its next local steps, and its next send if the receiver is at that message.
    bool advance(std::int32_t r) {
        state& st = states_[static_cast<std::size_t>(r)];
        bool moved = false;
        for (bool again = true; again && found_.empty();) {
            again = false;
            const auto strict = [&](std::size_t i) {
                if (of(r).steps[i].kind == step_kind::copy) return true;
                return (st.next_send == st.sends.size() || st.sends[st.next_send] > i) &&
                       (st.next_recv == st.recvs.size() || st.recvs[st.next_recv] > i);
            };
            while (st.next_local < st.local.size() && ready(r, st.local[st.next_local]) &&
                   strict(st.local[st.next_local]) && found_.empty()) {
                run_local(r, st.local[st.next_local++]);
                again = true;
            }
            while (st.next_send < st.sends.size() && found_.empty() && try_send(r, st.sends[st.next_send])) {
                ++st.next_send;
                again = true;
            }
            moved |= again;
        }
        return moved;
    }

    /// Scratch has room for larger blocks than it holds, so a step could move too little or too much of it.
    bool moves_all_of(const value& v, std::int32_t r, const step& t, std::uint32_t k) const {
        return key(v.by->low, buffer::input, v.origin) ==
               key(r, t.kind == step_kind::send ? t.from : t.to, t.shape + k);
    }
    void say_size(std::int32_t r, std::size_t i, block b) {
        say_step(r, i, "what block {} holds is not as large as what is moved", b);
    }

    bool try_send(std::int32_t r, std::size_t s) {
        const step& out = of(r).steps[s];
        state& there = states_[static_cast<std::size_t>(out.peer)];
        if (!ready(r, s) || there.next_recv == there.recvs.size()) return false;
        const std::size_t other = there.recvs[there.next_recv];
        const step& in = of(out.peer).steps[other];
        if (in.peer != r || in.message != out.message || !ready(out.peer, other)) return false;
        for (std::uint32_t k = 0; k < out.count; ++k) {
            const std::optional<value>& v = at(r, out.from, out.source + k);
            if (!v) return say_step(r, s, "block {} holds nothing yet", out.source + k), true;
            if (!moves_all_of(*v, r, out, k)) return say_size(r, s, out.source + k), true;
            at(out.peer, in.to, in.target + k) = v;
        }
        states_[static_cast<std::size_t>(r)].done[s] = true;
        there.done[other] = true;
        ++there.next_recv;
        return true;
    }

    void run_local(std::int32_t r, std::size_t i) {
        const step& s = of(r).steps[i];
        states_[static_cast<std::size_t>(r)].done[i] = true;
        for (std::uint32_t k = 0; k < s.count; ++k) {
            const std::optional<value>& left = at(r, s.from, s.source + k);
            std::optional<value>& into = at(r, s.to, s.target + k);
            if (!left) return say_step(r, i, "block {} of its source holds nothing yet", s.source + k);
            if (!moves_all_of(*left, r, s, k)) return say_size(r, i, s.source + k);
            if (s.kind == step_kind::copy) {
                into = left;
                continue;
            }
            if (!into) return say_step(r, i, "block {} of its target holds nothing yet", s.target + k);
            if (left->origin != into->origin)
                return say_step(r, i, "it combines block {} with block {}", left->origin, into->origin);
            contributions sum = *into->by;
            for (std::size_t c = 0; c < sum.from.size(); ++c) {
                if (left->by->from[c] && sum.from[c] && !p_.idempotent)
                    return say_step(r, i, "the contribution of rank {} is counted twice", c);
                if (left->by->from[c]) sum.from[c] = true;
            }
            sum.in_order = left->by->in_order && into->by->in_order && left->by->high + 1 == into->by->low;
            sum.low = std::min(left->by->low, into->by->low);
            sum.high = std::max(left->by->high, into->by->high);
            into = value{into->origin, std::make_shared<contributions>(std::move(sum))};
        }
    }

    void report_stuck() {
        for (std::int32_t r = 0; r < p_.ranks; ++r) {
            const auto& done = states_[static_cast<std::size_t>(r)].done;
            const auto first = std::ranges::find(done, false);
            if (first == done.end()) continue;
            const auto i = static_cast<std::size_t>(first - done.begin());
            say_step(r, i, "deadlock: it never gets its turn");
        }
    }

    /// What block b of rank r's output must hold in the end: the collective's postcondition. Nothing: anything.
    std::optional<value> expected(std::int32_t r, block b) const {
        const std::uint32_t parts = of(r).parts;
        const auto of_ranks = [this](block origin, std::int32_t low, std::int32_t high) {
            return value{origin, std::make_shared<contributions>(contributions::interval(p_.ranks, low, high))};
        };
        const block part = b % parts;
        const auto chunk = static_cast<std::int32_t>(b / parts);
        const block mine = static_cast<block>(r) * parts;
        const bool at_root = r == p_.root.value;
        const std::int32_t last = p_.ranks - 1;
        switch (p_.what) {
            case collective::barrier: return std::nullopt;
            case collective::bcast:  // the root has it
                return at_root ? std::nullopt : std::optional(of_ranks(b, p_.root.value, p_.root.value));
            case collective::reduce: return at_root ? std::optional(of_ranks(b, 0, last)) : std::nullopt;
            case collective::allreduce: return of_ranks(b, 0, last);
            case collective::scatter:
            case collective::scatterv: return of_ranks(mine + b, p_.root.value, p_.root.value);
            case collective::gather:
            case collective::gatherv: return at_root ? std::optional(of_ranks(part, chunk, chunk)) : std::nullopt;
            case collective::allgather:
            case collective::allgatherv: return of_ranks(part, chunk, chunk);
            case collective::alltoall:
            case collective::alltoallv: return of_ranks(mine + part, chunk, chunk);
            case collective::reduce_scatter_block: return of_ranks(mine + b, 0, last);
            case collective::scan: return of_ranks(b, 0, r);
            case collective::exscan: return r == 0 ? std::nullopt : std::optional(of_ranks(b, 0, r - 1));
        }
        return std::nullopt;
    }

    void check_result() {
        if (p_.what == collective::barrier) return check_barrier();
        for (std::int32_t r = 0; r < p_.ranks; ++r) {
            for (block b = 0; b < blocks(r, buffer::output); ++b) {
                const std::optional<value> want = expected(r, b);
                if (!want) continue;
                const std::optional<value>& have = at(r, buffer::output, b);
                if (!have || have->origin != want->origin || have->by->from != want->by->from)
                    say("rank {}, output block {}: expected {}, found {}", r, b, text(want), text(have));
                else if (!p_.commutative && !have->by->in_order)
                    say("rank {}, output block {}: all contributions are there, but not in the order of ranks", r, b);
            }
        }
    }

    /// A barrier moves no data: its result is that the last step of each rank comes after the first of every other.
    void check_barrier() {
        std::vector<std::vector<std::vector<bool>>> known(all_.size());  // rank, step -> whose arrival it implies
        for (std::int32_t r = 0; r < p_.ranks; ++r) known[static_cast<std::size_t>(r)].resize(of(r).steps.size());
        std::map<std::tuple<std::int32_t, std::int32_t, std::uint32_t>, std::vector<bool>> sent;
        std::vector<std::size_t> next(all_.size(), 0);
        for (bool moved = true; moved;) {  // the order in which each rank lists its steps is free of deadlock by now
            moved = false;
            for (std::int32_t r = 0; r < p_.ranks; ++r) {
                auto& mine = known[static_cast<std::size_t>(r)];
                for (std::size_t& i = next[static_cast<std::size_t>(r)]; i < mine.size(); ++i, moved = true) {
                    const step& t = of(r).steps[i];
                    const std::tuple message{t.kind == step_kind::send ? r : t.peer,
                                             t.kind == step_kind::send ? t.peer : r, t.message};
                    if (t.kind == step_kind::recv && !sent.contains(message)) break;
                    mine[i].resize(all_.size());
                    mine[i][static_cast<std::size_t>(r)] = t.needs_arrival();
                    const auto join = [&](const std::vector<bool>& other) {
                        for (std::size_t k = 0; k < other.size(); ++k)
                            if (other[k]) mine[i][k] = true;
                    };
                    for (const std::uint32_t d : of(r).dependencies_of(i)) join(mine[d]);
                    if (t.kind == step_kind::recv) join(sent.at(message));
                    if (t.kind == step_kind::send) sent[message] = mine[i];
                }
            }
        }
        for (std::int32_t r = 0; r < p_.ranks; ++r) {
            std::vector<bool> all(all_.size());
            all[static_cast<std::size_t>(r)] = true;
            for (const auto& k : known[static_cast<std::size_t>(r)])
                for (std::size_t c = 0; c < k.size(); ++c)
                    if (k[c]) all[c] = true;
            for (std::size_t c = 0; c < all.size(); ++c)
                if (!all[c]) say("rank {} leaves the barrier without knowing that rank {} has arrived", r, c);
        }
    }

    const problem& p_;
    const collective_traits& t_;
    std::span<const schedule> all_;
    std::vector<state> states_{};
    std::vector<std::string> found_{};
};

}  // namespace

std::vector<std::string> verify(const problem& p, std::span<const schedule> all) { return checker(p, all).run(); }

}  // namespace rubato
