// Ring. Every rank passes on to the next one what it got from the one before, beginning with its own chunk.
//
// Cost: (P - 1)(alpha + m beta), m = one chunk. Optimal bandwidth; each rank sends to one neighbour only.
// Rank counts: any.
// Source: Thakur, Rabenseifner & Gropp 2005.
#include "algorithms/pattern/movement.hpp"

namespace rubato {

schedule allgather_ring(const problem& p, rank me) {
    builder b(p, me, 1);
    const rank next = around(me, 1, p.ranks);
    pass_around(b, me, p.ranks, b.input(), b.output(0, static_cast<std::uint32_t>(p.ranks)), {me.value, me.value + 1},
                {next.value, next.value + 1});
    b.copy(b.input(), b.output(chunk_of(me)));
    return std::move(b).finish();
}

}  // namespace rubato
