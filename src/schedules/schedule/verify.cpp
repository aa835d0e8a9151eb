// First checks that need no run: form, sizes, messages, races. Then the schedules are run.
#include "rubato/verify.hpp"

#include "schedules/schedule/symbolic.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <unordered_map>

namespace rubato {
namespace {

// Steps of one rank that touch the same block without an order between them, or that break when buffers coincide.
//
// For every block, walk its accesses in schedule order. An access conflicts with the last write before it, and a write
// also with the reads since that write; each such pair needs a path of dependencies. Earlier pairs follow from these.

/// Is there a path of dependencies from `later` back to `earlier`? Steps before `earlier` cannot lead there.
class reachability {
public:
    explicit reachability(const schedule& s) : schedule_(s), mark_(s.steps.size(), 0) {}

    bool ordered(std::uint32_t earlier, std::uint32_t later) {
        const auto direct = schedule_.dependencies_of(later);
        if (std::find(direct.begin(), direct.end(), earlier) != direct.end()) return true;
        ++round_;
        stack_.assign(1, later);
        while (!stack_.empty()) {
            const std::uint32_t s = stack_.back();
            stack_.pop_back();
            for (const std::uint32_t d : schedule_.dependencies_of(s)) {
                if (d == earlier) return true;
                if (d < earlier || mark_[d] == round_) continue;
                mark_[d] = round_;
                stack_.push_back(d);
            }
        }
        return false;
    }

private:
    const schedule& schedule_;
    std::vector<std::uint32_t> mark_;
    std::uint32_t round_ = 0;
    std::vector<std::uint32_t> stack_{};
};

struct accesses {
    std::int64_t writer = -1;
    std::vector<std::uint32_t> readers{};
};

struct conflicts {
    std::vector<race> races{};
    bool stale_input = false;  // the input was read after it had been overwritten under its other name
    bool overlap = false;      // a step overwrites what it reads
};

/// `output_shift`: where input and output are the same memory.
conflicts walk(const schedule& s, const std::int64_t* output_shift) {
    constexpr std::int64_t span = std::int64_t{1} << 40;
    // One number per place in memory; the two user buffers share numbers where they are the same memory.
    const auto address = [output_shift](buffer b, std::int64_t index) {
        if (b == buffer::scratch) return 2 * span + index;
        if (b == buffer::output) return span + index;
        return output_shift ? span + index + *output_shift : index;
    };
    conflicts found;
    std::unordered_map<std::int64_t, accesses> memory;
    reachability paths(s);
    const auto need = [&](std::uint32_t earlier, std::uint32_t later) {
        if (earlier != later && !paths.ordered(earlier, later)) found.races.push_back({earlier, later});
    };
    for (std::uint32_t i = 0; i < s.steps.size(); ++i) {
        const step& t = s.steps[i];
        const std::int64_t apart = address(t.from, t.source) - address(t.to, t.target);
        const bool onto_itself = t.kind == step_kind::copy && apart == 0;  // does nothing
        if (t.reads() && t.writes() && !onto_itself) found.overlap |= std::abs(apart) < std::int64_t{t.count};
        for (std::uint32_t k = 0; t.reads() && k < t.count; ++k) {
            accesses& h = memory[address(t.from, std::int64_t{t.source} + k)];
            if (h.writer >= 0) found.stale_input |= t.from == buffer::input;
            if (onto_itself) continue;
            if (h.writer >= 0) need(static_cast<std::uint32_t>(h.writer), i);
            h.readers.push_back(i);
        }
        if (onto_itself) continue;
        for (std::uint32_t k = 0; t.writes() && k < t.count; ++k) {
            accesses& h = memory[address(t.to, std::int64_t{t.target} + k)];
            if (h.writer >= 0) need(static_cast<std::uint32_t>(h.writer), i);
            for (const std::uint32_t r : h.readers) need(r, i);
            h.writer = i;
            h.readers.clear();
        }
    }
    return found;
}

class checker {
public:
    checker(const problem& p, std::span<const schedule> all, bool equal_parts, bool same_bits)
        : p_(p),
          t_(traits(p.what)),
          all_(all),
          promised_(p, all.front().parts, equal_parts),
          same_bits_(same_bits),
          found_(all) {}

    std::vector<std::string> run() {
        for (std::int32_t r = 0; r < p_.ranks; ++r)
            if (check_form(r)) check_steps(r);
        if (found_.empty()) match_messages();
        if (found_.empty()) check_races();
        if (found_.empty()) schedules::run_symbolically(p_, promised_, all_, same_bits_, found_);
        return std::move(found_).take();
    }

private:
    const schedule& of(std::int32_t r) const { return all_[static_cast<std::size_t>(r)]; }
    const step& step_of(std::int32_t r, std::size_t i) const { return of(r).steps[i]; }

    std::size_t blocks(std::int32_t r, buffer b) const {
        return b == buffer::scratch ? of(r).scratch.size() : promised_.blocks(r, b);
    }

    /// Can the steps be examined?
    bool check_form(std::int32_t r) {
        const schedule& s = of(r);
        const auto& first = s.first_dependency;
        if (s.parts == 0 || s.parts != of(0).parts) {
            found_.say("rank {} cuts chunks into {} parts, rank 0 into {}", r, s.parts, of(0).parts);
            return false;
        }
        if (first.size() != s.steps.size() + 1 || first.front() != 0 || first.back() != s.dependencies.size() ||
            !std::ranges::is_sorted(first)) {
            found_.say("rank {}: the lists of what steps wait for do not fit the steps", r);
            return false;
        }
        for (std::size_t b = 0; b < s.scratch.size(); ++b) {
            if (s.scratch[b] < promised_.shapes(r, buffer::scratch)) continue;
            found_.say("rank {}: scratch block {} has the shape of block {}, and there is none", r, b, s.scratch[b]);
            return false;
        }
        return true;
    }

    /// Is every step well formed, and does what it moves fit where it lies?
    void check_steps(std::int32_t r) {
        std::map<std::pair<std::int32_t, step_kind>, std::uint32_t> messages;  // listed so far
        for (std::size_t i = 0; i < of(r).steps.size(); ++i) {
            const step& t = step_of(r, i);
            for (const std::uint32_t d : of(r).dependencies_of(i))
                if (d >= i) found_.say_step(r, i, "it waits for step {}, which does not come before it", d);
            if (t.is_message()) {
                if (t.peer < 0 || t.peer >= p_.ranks || t.peer == r) found_.say_step(r, i, "there is no such peer");
                // Message tags repeat after a while, so messages of a pair must not overtake each other.
                const std::uint32_t number = messages[{t.peer, t.kind}]++;
                if (t.message != number) found_.say_step(r, i, "it is listed as message {} of this pair", number);
            } else {
                check_local(r, i);
            }
            if (t.writes() && t.to == buffer::input) found_.say_step(r, i, "the input is not to be written");
            const buffer measure = t.kind == step_kind::send ? t.from : t.to;
            if (t.count > 0 && std::size_t{t.shape} + t.count > promised_.shapes(r, measure)) {
                found_.say_step(r, i, "there is no block of its shape");
                continue;
            }
            if (t.reads()) check_place(r, i, t.from, t.source, measure);
            if (t.writes()) check_place(r, i, t.to, t.target, measure);
        }
    }

    void check_local(std::int32_t r, std::size_t i) {
        const step& t = step_of(r, i);
        if (t.count == 0) found_.say_step(r, i, "it moves nothing");
        if (t.kind == step_kind::combine && !t_.reduces) found_.say_step(r, i, "{} does not combine", t_.name);
        if (t.from == t.to && t.source < std::size_t{t.target} + t.count && t.target < std::size_t{t.source} + t.count)
            found_.say_step(r, i, "its source and its target overlap");
    }

    void check_place(std::int32_t r, std::size_t i, buffer where, block first, buffer measure) {
        const step& t = step_of(r, i);
        if (std::size_t{first} + t.count > blocks(r, where))
            return found_.say_step(r, i, "rank {} has only {} such blocks", r, blocks(r, where));
        if (where == buffer::scratch) return check_scratch(r, i, first, measure);
        const std::uint32_t parts = of(r).parts;
        if (t_.irregular && !t_.measured_by_input() && first / parts != (first + t.count - 1) / parts)
            found_.say_step(r, i, "chunks need not lie one after the other");
        for (std::uint32_t k = 0; k < t.count; ++k)
            if (promised_.size(r, where, promised_.shape_of(r, where, first + k)) !=
                promised_.size(r, measure, t.shape + k))
                found_.say_step(r, i, "block {} is not as large as what is moved", first + k);
    }

    void check_scratch(std::int32_t r, std::size_t i, block first, buffer measure) {
        const step& t = step_of(r, i);
        for (std::uint32_t k = 0; k < t.count; ++k) {
            const block shape = of(r).scratch[first + k];
            if (!promised_.tells_size(r, shape))
                found_.say_step(r, i, "rank {} does not know the size of scratch block {}", r, first + k);
            const schedules::size_key room = promised_.size(r, buffer::scratch, shape);
            const schedules::size_key moved = promised_.size(r, measure, t.shape + k);
            // A slot may be larger than its data; but of several blocks only the last may leave a gap.
            const bool fits = t_.irregular || k + 1 < t.count ? room == moved : room <= moved;
            if (!fits) found_.say_step(r, i, "scratch block {} is not as large as what is moved", first + k);
        }
    }

    /// Every message is sent and received, with the same sizes.
    void match_messages() {
        struct pair {
            std::vector<std::size_t> sends{}, recvs{};
        };
        std::map<std::pair<std::int32_t, std::int32_t>, pair> pairs;
        for (std::int32_t r = 0; r < p_.ranks; ++r) {
            for (std::size_t i = 0; i < of(r).steps.size(); ++i) {
                const step& t = step_of(r, i);
                if (t.kind == step_kind::send) pairs[{r, t.peer}].sends.push_back(i);
                if (t.kind == step_kind::recv) pairs[{t.peer, r}].recvs.push_back(i);
            }
        }
        for (const auto& [ranks, messages] : pairs) {
            const auto [from, to] = ranks;
            const auto& [sends, recvs] = messages;
            for (std::size_t m = 0; m < std::max(sends.size(), recvs.size()); ++m) {
                if (m >= sends.size())
                    found_.say_step(to, recvs[m], "rank {} never sends this message", from);
                else if (m >= recvs.size())
                    found_.say_step(from, sends[m], "rank {} never receives this message", to);
                else if (!same_size(from, step_of(from, sends[m]), to, step_of(to, recvs[m])))
                    found_.say_step(to, recvs[m], "its size is not that of rank {}'s step {} ({})", from, sends[m],
                                    to_string(step_of(from, sends[m])));
            }
        }
    }

    bool same_size(std::int32_t from, const step& out, std::int32_t to, const step& in) const {
        bool same = out.count == in.count;
        for (std::uint32_t k = 0; same && k < in.count; ++k)
            same = promised_.size(from, out.from, out.shape + k) == promised_.size(to, in.to, in.shape + k);
        return same;
    }

    void check_races() {
        for (std::int32_t r = 0; r < p_.ranks; ++r)
            for (const race& c : find_races(of(r)))
                found_.say_step(r, c.later, "it touches what step {} ({}) touches, and does not wait for it", c.earlier,
                                to_string(step_of(r, c.earlier)));
    }

    const problem& p_;
    const collective_traits& t_;
    std::span<const schedule> all_;
    schedules::promises promised_;
    bool same_bits_;
    schedules::findings found_;
};

}  // namespace

std::vector<std::string> verify(const problem& p, std::span<const schedule> all, bool equal_parts, bool same_bits) {
    if (all.empty() || all.size() != static_cast<std::size_t>(p.ranks))
        return {fmt::format("there are {} schedules for {} ranks", all.size(), p.ranks)};
    return checker(p, all, equal_parts, same_bits).run();
}

std::vector<race> find_races(const schedule& s) { return walk(s, nullptr).races; }

bool safe_in_place(const schedule& s, std::int64_t output_shift) {
    const conflicts found = walk(s, &output_shift);
    return found.races.empty() && !found.stale_input && !found.overlap;
}

}  // namespace rubato
