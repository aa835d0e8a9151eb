// What all others do before the last rank arrives, if it arrives long after them.
#include "schedules/algorithms/builders.hpp"
#include "schedules/algorithms/pattern/arrival_order.hpp"
#include "schedules/algorithms/pattern/in_order.hpp"

namespace rubato::schedules {
namespace {

/// The last rank of the line contributes when it arrives; by then all ranks, itself included, have the others' sum.
schedule allreduce_and_straggler(const problem& p, rank me, const std::vector<rank>& line, const all_but_one&) {
    builder b(p, me, 1);
    const rank last = line.back();
    const std::vector<rank> others(line.begin(), line.end() - 1);
    // The last rank's vector goes down its own tree.
    const tree down = lined_up_tree(last, me, others).shape();
    if (me == last) {
        const slice sum = b.scratch_chunks();
        b.recv(line.front(), sum);
        for (const rank child : down.children) b.send(child, b.input());
        b.copy(b.input(), b.output());
        b.combine(sum, b.output());
        return std::move(b).finish();
    }
    const tree up = lined_up_tree(line.front(), me, {others.rbegin(), others.rend() - 1}).shape();
    slice sum = b.input();
    const slice home = b.scratch_chunks();
    for (std::size_t i = up.children.size(); i-- > 0;) {
        const slice received = sum.where == buffer::input ? home : b.scratch_chunks();
        b.recv(up.children[i], received);
        b.combine(sum.where == buffer::input ? sum : received, home);
        sum = home;
    }
    if (up.parent) {
        b.send(*up.parent, sum);
        b.recv(*up.parent, home);
        sum = home;
    }
    for (const rank child : up.children) b.send(child, sum);
    if (me == line.front()) b.send(last, sum);
    b.recv(*down.parent, b.output());
    for (const rank child : down.children) b.send(child, b.output());
    b.combine(sum, b.output());
    return std::move(b).finish();
}

/// The last rank's partners: one other rank, which has all chunks for it, and its children in a tree.
schedule alltoall_and_straggler(const problem& p, rank me, const std::vector<rank>& line, const all_but_one& others) {
    builder b(p, me, 1);
    const rank last = line.back();
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
    const rank number = others.number(me);
    b.embed(alltoall_bruck(others.among(p, collective::alltoall), number), others.who,
            in_line(b, b.input(0, ranks), others.who), theirs);
    unpack_line(b, theirs, all, others.who);
    const slice for_last = me == giver ? b.scratch_chunks(ranks - 1) : builder::nothing();
    b.embed(gather_binomial(others.among(p, collective::gather), number), others.who, b.input(chunk_of(last)),
            for_last);
    if (me == giver) b.send(last, for_last);
    const slice from_last = b.scratch_chunks(static_cast<std::uint32_t>(down.covers.size()));
    scatter_down(b, down, from_last);
    b.copy(piece(from_last, down.covers, me), b.output(chunk_of(last)));
    return std::move(b).finish();
}

/// The last rank's data goes down a tree to the others, which have finished theirs.
schedule reduce_scatter_and_straggler(const problem& p, rank me, const std::vector<rank>& line,
                                      const all_but_one& others) {
    builder b(p, me, 1);
    const rank last = line.back();
    const slice all = b.input(0, static_cast<std::uint32_t>(p.ranks));
    const rank keeper = others.who.back();
    const tree down = knomial_tree(p.ranks, last, me, 2);
    if (me == last) {
        b.recv(keeper, b.output());
        scatter_down(b, down, all);
        b.combine(b.input(chunk_of(me)), b.output());
        return std::move(b).finish();
    }
    const rank number = others.number(me);
    b.embed(reduce_scatter_block_halving(others.among(p, p.what), number), others.who, in_line(b, all, others.who),
            b.output());
    const slice sum = me == keeper ? b.scratch_chunks() : builder::nothing();
    b.embed(reduce_binomial(others.among(p, collective::reduce), number), others.who, b.input(chunk_of(last)), sum);
    if (me == keeper) b.send(last, sum);
    const slice from_last = b.scratch_chunks(static_cast<std::uint32_t>(down.covers.size()));
    scatter_down(b, down, from_last);
    b.combine(piece(from_last, down.covers, me), b.output());
    return std::move(b).finish();
}

}  // namespace

/// Straggler's allreduce, for small vectors. All ranks but the last to arrive are summed along a tree in which later
/// ranks are closer to the root, and the sum is sent to all, the last rank included. When the last rank arrives, its
/// vector goes down its own binomial tree, and every rank adds it. If no rank is expected long after the others,
/// recursive doubling is used.
/// Cost: n (alpha + m beta) + m gamma after the last arrival, n = ceil(log2 P): the last rank's data cannot reach
/// everybody in fewer messages. Before, 2 n (alpha + m beta) + n m gamma among the others.
/// Rank counts: any. All ranks get the same bits: each adds the last one's vector to the same sum.
/// Source: ours.
std::vector<schedule> allreduce_straggler(const problem& p, std::span<const rank> who) {
    return build_for_straggler(p, who, rounds_up_and_down(p), allreduce_and_straggler, allreduce_recursive_doubling);
}

/// Straggler's alltoall, for small chunks. All ranks but the last to arrive exchange their chunks as in Bruck's
/// algorithm, and gather the chunks for the last rank. When it arrives, it gets these in one message, and its own
/// chunks are scattered down a binomial tree. If no single rank is expected long after the others, all use Bruck's
/// algorithm.
/// Cost: n alpha + (P - 1) m beta after the last arrival, n = ceil(log2 P), m = one chunk; Bruck's needs n
/// alpha + n P/2 m beta. The gather keeps the others busy for up to (P - 1) m beta longer than Bruck's among all, and
/// the last rank's own chunks take it as long. So it pays if the last rank arrives 2 P rounds after them, and 2 n more
/// for latency. Not for alltoallv: the ranks in between do not know the sizes of chunks. Rank counts: any. Source:
/// ours, after Bruck et al. 1997.
std::vector<schedule> alltoall_straggler(const problem& p, std::span<const rank> who) {
    return build_for_straggler(p, who, 2 * (std::int64_t{p.ranks} + ceil_log2(p.ranks)), alltoall_and_straggler,
                               alltoall_bruck);
}

/// Straggler's reduce-scatter, for small chunks. All ranks but the last to arrive sum their own chunks by recursive
/// halving, and the last rank's chunk along a binomial tree. When the last rank arrives, its vector is scattered down a
/// binomial tree, and every rank adds its chunk. If no single rank is expected long after the others, all use halving.
/// Cost: n alpha + (P - 1) m beta + m gamma after the last arrival, n = ceil(log2 P), m = one chunk; halving needs (P -
/// 1) m gamma more. Halving of the others, which are no power of two, takes 2 M beta + 3/2 M gamma before, M = P m. So
/// it pays if the last one comes 2 M beta + M gamma / 2 after them, and n alpha: at most 7/4 P + n rounds where
/// combining takes a fifth of the time of sending, and with less to combine there is little to gain. Scratch: up to
/// three vectors. Chunks that differ in size (reduce_scatter) cannot be numbered without the last one's.
/// Rank counts: any. Source: ours, after Thakur, Rabenseifner, Gropp 2005, 4.4.
std::vector<schedule> reduce_scatter_block_straggler(const problem& p, std::span<const rank> who) {
    return build_for_straggler(p, who, 7 * std::int64_t{p.ranks} / 4 + ceil_log2(p.ranks), reduce_scatter_and_straggler,
                               reduce_scatter_block_halving);
}

}  // namespace rubato::schedules
