// Sorted tree, for small chunks. All but the last rank to come gather their chunks up a tree at the first one, and get
// them all down it. When the last one has come, its chunk goes to everybody down a binomial tree of its own, and one
// who passes nothing on in that tree gives it all others'. If no single rank is expected long after the others,
// Bruck's.
//
// Cost: the larger of n (alpha + m beta) and 2 alpha + (P - 1) m beta after the last arrival, n = ceil(log2 P), m = one
// chunk; begun early n (alpha + m beta), which is the bound for so small a chunk that is not cut. Bruck's needs n alpha
// + (P - 1) m beta. Before, n alpha + (P - 1) m beta to gather and n (2 alpha + P m beta) to spread. Rank counts: any.
// Source: ours, after Proficz 2020, Fig. 11.
#include "../arrival_order.hpp"
#include "../builders.hpp"

namespace rubato {

schedule allgather_sorted_tree(const problem& p, rank me) {
    const std::vector<rank> line = line_up(p);
    // What the others do before, if chunks are so large that bytes count and not messages.
    const std::int64_t before = std::int64_t{p.ranks} * (ceil_log2(p.ranks) + 1);
    const std::size_t latest = joining_groups(p, line, [before](std::size_t) { return before; }).back().old;
    if (latest == 0 || latest + 1 != line.size()) return allgather_bruck(p, me);
    builder b(p, me, 1);
    const rank last = line.back();
    const rank giver = line[line.size() - 2];
    const slice all = b.output(0, static_cast<std::uint32_t>(p.ranks));
    std::vector<slice> theirs;  // all but the last one's
    if (last.value > 0) theirs.push_back(all.sub(0, chunk_of(last)));
    if (last.value + 1 < p.ranks) theirs.push_back(all.sub(chunk_of(last) + 1, all.count - chunk_of(last) - 1));
    if (me != last) {
        const lined_up_tree up(line.front(), me, {line.rbegin() + 1, line.rend() - 1});
        gather_lined_up(b, me, up, all);
        const tree t = up.shape();
        for (const slice run : theirs)
            if (t.parent) b.recv(*t.parent, run);
        for (const rank child : t.children)
            for (const slice run : theirs) b.send(child, run);
        for (const slice run : theirs)
            if (me == giver) b.send(last, run);
    } else {
        for (const slice run : theirs) b.recv(giver, run);
    }
    const tree down = lined_up_tree(last, me, {line.begin(), line.end() - 1}).shape();
    const slice chunk = me == last ? b.input() : b.output(chunk_of(last));
    if (down.parent) b.recv(*down.parent, chunk);
    for (const rank child : down.children) b.send(child, chunk);
    if (me == last) b.copy(b.input(), b.output(chunk_of(me)));
    return std::move(b).finish();
}

}  // namespace rubato
