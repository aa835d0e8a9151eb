// Ring. Every chunk travels along the ring to its owner, each rank on the way adding its own.
//
// Cost: (P-1) (alpha + m (beta + gamma)) for chunks of m bytes. Each chunk is combined in an order of its own.
// Rank counts: any.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.4 (with neighbours only).
#include "../ring.hpp"
#include "../movement.hpp"

#include <array>

namespace rubato {

schedule reduce_scatter_block_ring(const problem& p, rank me) {
    builder b(p, me, 1);
    const auto ranks = static_cast<std::uint32_t>(p.ranks);
    std::array<slice, 2> passing{};
    for (slice& s : passing)
        if (ranks > 2) s = b.scratch_chunks();
    ring_reduce_scatter(b, p.ranks, me, 1, b.input(0, ranks), [&](block chunk, std::uint32_t turn) {
        return chunk == chunk_of(me) ? b.output() : passing[turn % 2];
    });
    if (ranks == 1) b.copy(b.input(), b.output());
    return std::move(b).finish();
}

}  // namespace rubato
