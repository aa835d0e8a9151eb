// Clairvoyant scan. No rank waits for the last rank to arrive, L, longer than it must: ranks below L need nothing of
// it. Ranks above L have already combined their own data, and got the prefix of the ranks below L down a binomial tree.
// When L arrives, its data goes to them down the same tree, and each puts both in front of its own. Both sides use
// recursive doubling; so do all ranks if none is expected long after the others.
//
// Cost: n (alpha + m beta + m gamma) for either side, and k (alpha + m beta) for the prefix before L has come, k =
// ceil(log2 (P - L)); after it has come, the larger of k (alpha + m beta) + 2 m gamma and, at L, alpha + m (beta +
// gamma).
// Rank counts: any; the order of operands is kept.
// Source: ours, after Hillis, Steele 1986.
#include "schedules/algorithms/builders.hpp"
#include "schedules/algorithms/pattern/arrival_order.hpp"
#include "schedules/algorithms/pattern/tree.hpp"

#include <algorithm>

namespace rubato::schedules {
namespace {

schedule scan_and_straggler(const problem& p, rank me, const std::vector<rank>& line, const all_but_one&) {
    const rank last = line.back();
    builder b(p, me, 1);
    const slice mine = b.output();  // the prefix within this rank's side, in the end of all
    const slice room = b.scratch_chunks();
    b.copy(b.input(), mine);
    const std::int32_t first = me < last ? 0 : last.value + 1;
    const std::int32_t end = me < last ? last.value : p.ranks;
    for (std::int64_t distance = 1; me != last && distance < end - first; distance *= 2) {
        const auto d = static_cast<std::int32_t>(distance);
        if (me.value < end - d) b.send(rank(me.value + d), mine);
        if (me.value >= first + d) {
            b.recv(rank(me.value - d), room);
            b.combine(room, mine);
        }
    }
    // Ranks above L, in a tree whose root is the rank before L, or L itself.
    const bool has_before = last.value > 0;
    const rank before(last.value - 1);
    if (me.value < before.value) return std::move(b).finish();
    const tree down = knomial_tree(p.ranks - last.value, rank(0), rank(std::max(0, me.value - last.value)), 2);
    const auto pass_down = [&](rank top, slice data, slice received) {
        const auto actual = [&](rank r) { return r.value == 0 ? top : rank(r.value + last.value); };
        if (down.parent) b.recv(actual(*down.parent), received);
        for (const rank child : down.children) b.send(actual(child), me == top ? data : received);
    };
    const slice prefix = has_before && me > last ? b.scratch_chunks() : room;
    if (has_before && me != last) pass_down(before, mine, prefix);
    if (has_before && me == before) b.send(last, mine);
    if (has_before && me == last) b.recv(before, prefix);
    if (me >= last) pass_down(last, b.input(), room);
    if (me > last) b.combine(room, mine);
    if (has_before && me >= last) b.combine(prefix, mine);
    return std::move(b).finish();
}

}  // namespace

std::vector<schedule> scan_clairvoyant(const problem& p, std::span<const rank> who) {
    return build_for_straggler(p, who, rounds_up_and_down(p), scan_and_straggler, scan_recursive_doubling);
}

}  // namespace rubato::schedules
