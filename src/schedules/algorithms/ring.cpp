// Around a ring of ranks: a rank sends to its neighbours only.
#include "schedules/algorithms/builders.hpp"
#include "schedules/algorithms/pattern/movement.hpp"
#include "schedules/algorithms/pattern/rank_ring.hpp"

namespace rubato::schedules {

/// Ring. Every rank passes on to the next one what it got from the one before, beginning with its own chunk.
/// Cost: (P - 1)(alpha + m beta), m = one chunk. Optimal bandwidth; each rank sends to one neighbour only.
/// Rank counts: any.
/// Source: Thakur, Rabenseifner & Gropp 2005.
schedule allgather_ring(const problem& p, rank me) {
    builder b(p, me, 1);
    const rank next = around(me, 1, p.ranks);
    pass_around(b, me, p.ranks, b.input(), b.output(0, static_cast<std::uint32_t>(p.ranks)), {me.value, me.value + 1},
                {next.value, next.value + 1});
    b.copy(b.input(), b.output(chunk_of(me)));
    return std::move(b).finish();
}

/// Neighbour exchange. Ranks exchange chunks with the neighbours on their two sides in turn: first their own chunk,
/// then always the two chunks they got last. So chunks travel in pairs, in half the rounds of a ring. Cost: P/2 alpha +
/// (P - 1) m beta, m = one chunk. Rank counts: even ones, so that the pairs close the ring. Source: Chen et al. 2005.
schedule allgather_neighbour_exchange(const problem& p, rank me) {
    builder b(p, me, 1);
    const std::int32_t pairs = p.ranks / 2;
    const rank own_pair(me.value / 2);
    const auto side = [me](std::int32_t round) { return (me.value + round) % 2 == 0 ? 1 : -1; };
    const auto exchange = [&](std::int32_t round, slice newest, slice next) {
        const rank peer = around(me, side(round), p.ranks);
        b.send(peer, newest);
        b.recv(peer, next);
    };
    if (pairs > 0) exchange(0, b.input(), b.output(chunk_of(me) ^ 1));
    b.copy(b.input(), b.output(chunk_of(me)));
    slice newest = b.output(2 * chunk_of(own_pair), 2);
    for (std::int32_t round = 1; round < pairs; ++round) {
        const rank pair = around(own_pair, std::int64_t{side(round)} * ((round + 1) / 2), pairs);
        const slice next = b.output(2 * chunk_of(pair), 2);
        exchange(round, newest, next);
        newest = next;
    }
    return std::move(b).finish();
}

/// Ring. Every chunk travels along the ring to its owner, each rank on the way adding its own.
/// Cost: (P-1) (alpha + m (beta + gamma)) for chunks of m bytes. Each chunk is combined in an order of its own.
/// Rank counts: any.
/// Source: Thakur, Rabenseifner, Gropp 2005, 4.4 (with neighbours only).
schedule reduce_scatter_block_ring(const problem& p, rank me) {
    builder b(p, me, 1);
    passing_chunks passing(b, p);
    ring_reduce_scatter(
        b, p.ranks, me, 1, [&](block chunk) { return b.input(chunk); },
        [&](block chunk, std::uint32_t turn) {
            return chunk == chunk_of(me) ? b.output() : passing.room(chunk, turn);
        });
    if (p.ranks == 1) b.copy(b.input(), b.output());
    return std::move(b).finish();
}

}  // namespace rubato::schedules
