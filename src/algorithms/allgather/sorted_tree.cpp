// Sorted tree. All ranks but the last to arrive exchange their chunks as in Bruck's algorithm. When the last rank has
// arrived, its chunk goes to everybody down its own binomial tree, and a leaf of that tree sends it all other chunks.
// If no single rank is expected long after the others, all use Bruck's algorithm.
//
// Cost: the larger of n (alpha + m beta) and 2 alpha + (P - 1) m beta after the last arrival, n = ceil(log2 P), m = one
// chunk; begun early n (alpha + m beta), which is the bound for a small chunk that is not cut. Bruck's needs n alpha +
// (P - 1) m beta; before the last arrival the others need as much. So it pays if the last rank arrives that long after
// them: P rounds, or two thirds, as a round's time includes combining, or caution. Where latency dominates that is too
// long, but nothing is lost: the bound is n alpha. Rank counts: any. Source: ours, after Proficz 2020, Fig. 11.
#include "algorithms/builders.hpp"
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/in_order.hpp"
#include "algorithms/pattern/lined_up_tree.hpp"

namespace rubato {
namespace {

schedule for_straggler(const problem& p, rank me, const std::vector<rank>& line, const all_but_one& others) {
    builder b(p, me, 1);
    const rank last = line.back();
    const rank giver = line[line.size() - 2];
    const slice all = b.output(0, static_cast<std::uint32_t>(p.ranks));
    const slice theirs = line_for(b, all, others.who);
    if (me == last) {
        b.recv(giver, theirs);
    } else {
        const problem before = others.among(p, p.what);
        b.embed(allgather_bruck(before, others.place(me)), others.who, b.input(), theirs);
        if (me == giver) b.send(last, theirs);
    }
    unpack_line(b, theirs, all, others.who);
    const tree down = lined_up_tree(last, me, {line.begin(), line.end() - 1}).shape();
    const slice chunk = me == last ? b.input() : b.output(chunk_of(last));
    if (down.parent) b.recv(*down.parent, chunk);
    for (const rank child : down.children) b.send(child, chunk);
    if (me == last) b.copy(b.input(), b.output(chunk_of(me)));
    return std::move(b).finish();
}

}  // namespace

std::vector<schedule> allgather_sorted_tree(const problem& p, std::span<const rank> who) {
    const std::vector<rank> line = line_up(p);
    const std::int64_t before = 2 * std::int64_t{p.ranks} / 3;
    if (!comes_alone(p, line, before)) return build_each(who, [&p](rank me) { return allgather_bruck(p, me); });
    const all_but_one others(p, line.back());
    return build_each(who, [&](rank me) { return for_straggler(p, me, line, others); });
}

}  // namespace rubato
