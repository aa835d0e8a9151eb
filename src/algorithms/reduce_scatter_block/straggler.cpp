// Straggler's reduce-scatter, for small chunks. All ranks but the last to arrive sum their own chunks by recursive
// halving, and the last rank's chunk along a binomial tree. When the last rank arrives, its vector is scattered down a
// binomial tree, and every rank adds its chunk. If no single rank is expected long after the others, all use halving.
//
// Cost: n alpha + (P - 1) m beta + m gamma after the last arrival, n = ceil(log2 P), m = one chunk; halving needs (P -
// 1) m gamma more. Halving of the others, which are no power of two, takes 2 M beta + 3/2 M gamma before, M = P m. So
// it pays if the last one comes 2 M beta + M gamma / 2 after them, and n alpha: at most 7/4 P + n rounds where
// combining takes a fifth of the time of sending, and with less to combine there is little to gain. Scratch: up to
// three vectors. Chunks that differ in size (reduce_scatter) cannot be numbered without the last one's.
// Rank counts: any. Source: ours, after Thakur, Rabenseifner, Gropp 2005, 4.4.
#include "algorithms/builders.hpp"
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/in_order.hpp"

namespace rubato {
namespace {

/// The last rank's data goes down a tree to the others, which have finished theirs.
schedule for_straggler(const problem& p, rank me, rank last, const all_but_one& others) {
    builder b(p, me, 1);
    const slice all = b.input(0, static_cast<std::uint32_t>(p.ranks));
    const rank keeper = others.who.back();
    const tree down = knomial_tree(p.ranks, last, me, 2);
    if (me == last) {
        b.recv(keeper, b.output());
        scatter_down(b, down, all);
        b.combine(b.input(chunk_of(me)), b.output());
        return std::move(b).finish();
    }
    const rank place = others.place(me);
    b.embed(reduce_scatter_block_halving(others.among(p, p.what), place), others.who, in_line(b, all, others.who),
            b.output());
    const slice sum = me == keeper ? b.scratch_chunks() : builder::nothing();
    b.embed(reduce_binomial(others.among(p, collective::reduce), place), others.who, b.input(chunk_of(last)), sum);
    if (me == keeper) b.send(last, sum);
    const slice from_last = b.scratch_chunks(static_cast<std::uint32_t>(down.covers.size()));
    scatter_down(b, down, from_last);
    b.combine(piece(from_last, down.covers, me), b.output());
    return std::move(b).finish();
}

}  // namespace

std::vector<schedule> reduce_scatter_block_straggler(const problem& p, std::span<const rank> who) {
    const std::vector<rank> line = line_up(p);
    if (!comes_alone(p, line, 7 * std::int64_t{p.ranks} / 4 + ceil_log2(p.ranks)))
        return build_each(who, [&p](rank me) { return reduce_scatter_block_halving(p, me); });
    const all_but_one others(p, line.back());
    return build_each(who, [&](rank me) { return for_straggler(p, me, line.back(), others); });
}

}  // namespace rubato
