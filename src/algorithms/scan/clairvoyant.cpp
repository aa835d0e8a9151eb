// Clairvoyant scan. The last rank to come, L, holds up nobody: those before it need nothing of it, and those after it
// have combined their own before. When L has come, its prefix goes to all after it, down a binomial tree, and each puts
// it in front of its own. Within both sides, and if nobody comes long after the others, recursive doubling.
//
// Cost: n (alpha + m beta + m gamma) for either side; then, after L has come, the prefix of those before comes to it,
// and takes ceil(log2 (P - L)) messages from there.
// Rank counts: any; the order of operands is kept.
// Source: ours, after Hillis, Steele 1986.
#include "../arrival_order.hpp"
#include "../builders.hpp"

namespace rubato {

schedule scan_clairvoyant(const problem& p, rank me) {
    const std::vector<rank> line = line_up(p);
    if (!has_straggler(p, line)) return scan_recursive_doubling(p, me);
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
    if (last.value > 0 && me.value == last.value - 1) b.send(last, mine);
    if (me == last && last.value > 0) {
        b.recv(rank(last.value - 1), room);
        b.combine(room, mine);
    }
    if (me >= last) {
        const tree down = knomial_tree(p.ranks - last.value, rank(0), rank(me.value - last.value), 2);
        const auto actual = [&](rank r) { return rank(r.value + last.value); };
        if (down.parent) b.recv(actual(*down.parent), room);
        for (const rank child : down.children) b.send(actual(child), me == last ? mine : room);
        if (down.parent) b.combine(room, mine);
    }
    return std::move(b).finish();
}

}  // namespace rubato
