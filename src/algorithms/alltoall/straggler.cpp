// Straggler's alltoall, for small chunks. All ranks but the last to arrive exchange their chunks as in Bruck's
// algorithm, and gather the chunks for the last rank. When it arrives, it gets these in one message, and its own chunks
// are scattered down a binomial tree. If no single rank is expected long after the others, all use Bruck's algorithm.
//
// Cost: n alpha + (P - 1) m beta after the last arrival, n = ceil(log2 P), m = one chunk; Bruck's needs n alpha + n P/2
// m beta. The gather keeps the others busy for up to (P - 1) m beta longer than Bruck's among all, and the last rank's
// own chunks take it as long. So it pays if the last rank arrives 2 P rounds after them, and 2 n more for latency.
// Not for alltoallv: the ranks in between do not know the sizes of chunks.
// Rank counts: any. Source: ours, after Bruck et al. 1997.
#include "algorithms/builders.hpp"
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/in_order.hpp"

namespace rubato {
namespace {

/// The last rank's partners: one other rank, which has all chunks for it, and its children in a tree.
schedule for_straggler(const problem& p, rank me, rank last, const all_but_one& others) {
    builder b(p, me, 1);
    const auto ranks = static_cast<std::uint32_t>(p.ranks);
    const slice all = b.output(0, ranks);
    const slice theirs = line_for(b, all, others.who);
    const rank giver = others.who.back();
    const tree down = knomial_tree(p.ranks, last, me, 2);
    if (me == last) {
        b.recv(giver, theirs);
        scatter_down(b, down, b.input(0, ranks));
        unpack_line(b, theirs, all, others.who);
        b.copy(b.input(chunk_of(me)), b.output(chunk_of(me)));
        return std::move(b).finish();
    }
    const rank place = others.place(me);
    b.embed(alltoall_bruck(others.among(p, collective::alltoall), place), others.who,
            in_line(b, b.input(0, ranks), others.who), theirs);
    unpack_line(b, theirs, all, others.who);
    const slice for_last = me == giver ? b.scratch_chunks(ranks - 1) : builder::nothing();
    b.embed(gather_binomial(others.among(p, collective::gather), place), others.who, b.input(chunk_of(last)), for_last);
    if (me == giver) b.send(last, for_last);
    const slice from_last = b.scratch_chunks(static_cast<std::uint32_t>(down.covers.size()));
    scatter_down(b, down, from_last);
    b.copy(piece(from_last, down.covers, me), b.output(chunk_of(last)));
    return std::move(b).finish();
}

}  // namespace

std::vector<schedule> alltoall_straggler(const problem& p, std::span<const rank> who) {
    const std::vector<rank> line = line_up(p);
    if (!comes_alone(p, line, 2 * (std::int64_t{p.ranks} + ceil_log2(p.ranks))))
        return build_each(who, [&p](rank me) { return alltoall_bruck(p, me); });
    const all_but_one others(p, line.back());
    return build_each(who, [&](rank me) { return for_straggler(p, me, line.back(), others); });
}

}  // namespace rubato
