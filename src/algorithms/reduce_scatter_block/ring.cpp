// Ring. Every chunk travels along the ring to its owner, each rank on the way adding its own.
//
// Cost: (P-1) (alpha + m (beta + gamma)) for chunks of m bytes. Each chunk is combined in an order of its own.
// Rank counts: any.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.4 (with neighbours only).
#include "algorithms/pattern/movement.hpp"
#include "algorithms/pattern/rank_ring.hpp"

namespace rubato {

schedule reduce_scatter_block_ring(const problem& p, rank me) {
    builder b(p, me, 1);
    passing_chunks passing(b, p);
    ring_reduce_scatter(
        b, p.ranks, me, 1, [&](block chunk) { return b.input(chunk); },
        [&](block chunk, std::uint32_t turn) {
            return chunk == chunk_of(me) ? b.output() : passing.place(chunk, turn);
        });
    if (p.ranks == 1) b.copy(b.input(), b.output());
    return std::move(b).finish();
}

}  // namespace rubato
