// Sorted pairwise exchange. Ranks are lined up by arrival, and those who come together join together. Then they
// exchange chunks with each other and with all who were there before, as in the pairwise exchange; those who were there
// take part in that as far as the new ones need it, as they have exchanged all else before.
//
// A rank has a few exchanges under way, so that a link is not idle while one ends and the next begins, but no more: so
// chunks do not pile up anywhere, and few share a link.
//
// Cost: (P - 1)(alpha + m beta), m = one chunk, if all are there; as long after the last arrival. That is the bound:
// all that the last one has to send passes its link then. The pairwise exchange keeps it, too, but nobody leaves
// before. Without predicted arrivals it is the pairwise exchange, by distance.
//
// Segments cut nothing, but say how large a chunk is. If it has one, latency counts: Bruck's, n alpha + n P/2 m beta, n
// = ceil(log2 P). If the last rank comes long after the others, they exchange theirs as in Bruck's before, and gather
// what they have for it; it gets that in one message, and its own chunks are scattered down a binomial tree: n alpha +
// (P - 1) m beta after it came. The others are busy with that for up to (P - 1) m beta longer than in Bruck's among
// all, and so is the last one with its own, so it pays from 2 P rounds on, and 2 n for latency. Chunks that differ in
// size (alltoallv) are not known to those on their way, and always go straight.
//
// Rank counts: any. Source: ours, after Thakur, Rabenseifner & Gropp 2005.
#include "algorithms/builders.hpp"
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/in_order.hpp"

#include <algorithm>

namespace rubato {
namespace {

schedule join_in_turn(const problem& p, rank me, const std::vector<rank>& line, const std::vector<joining>& groups) {
    builder b(p, me, 1);
    const auto mine = static_cast<std::size_t>(std::ranges::find(line, me) - line.begin());
    constexpr std::size_t under_way = 4;
    std::vector<builder::step_id> received;
    for (const auto [old, end] : groups) {
        if (mine >= end) continue;
        for (std::size_t distance = 1; distance < end; ++distance) {
            const std::size_t to = (mine + distance) % end;
            const std::size_t from = (mine + end - distance) % end;
            if (mine >= old || to >= old) {
                if (received.size() >= under_way)
                    b.send(line[to], b.input(chunk_of(line[to])), {received[received.size() - under_way]});
                else
                    b.send(line[to], b.input(chunk_of(line[to])));
            }
            if (mine >= old || from >= old) received.push_back(b.recv(line[from], b.output(chunk_of(line[from]))));
        }
    }
    b.copy(b.input(chunk_of(me)), b.output(chunk_of(me)));
    return std::move(b).finish();
}

/// The last one deals with one of the others, who has all chunks for it, and with its children in a tree.
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

std::vector<schedule> alltoall_sorted_pairwise(const problem& p, std::span<const rank> who) {
    const std::vector<rank> line = line_up(p);
    if (p.segments == 1 && !traits(p.what).irregular) {
        if (!comes_alone(p, line, 2 * (std::int64_t{p.ranks} + ceil_log2(p.ranks))))
            return build_each(who, [&p](rank me) { return alltoall_bruck(p, me); });
        const all_but_one others(p, line.back());
        return build_each(who, [&](rank me) { return for_straggler(p, me, line.back(), others); });
    }
    const auto rounds = [&p](std::size_t n) { return static_cast<std::int64_t>((n - 1) * p.segments); };
    const std::vector<joining> groups = joining_groups(p, line, rounds);
    return build_each(who, [&](rank me) { return join_in_turn(p, me, line, groups); });
}

}  // namespace rubato
