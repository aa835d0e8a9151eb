// Bine butterfly: recursive doubling with Bine's partners, the farthest first, when there is one chunk to send, and the
// nearest last. Ranks that have the same chunks would not have neighbouring ones, so each first hands its chunk to the
// rank that has it in the order of positions (halving::position).
//
// Cost: (n + 1) alpha + P m beta, n = log2 P, m = one chunk.
// Rank counts: powers of two.
// Source: De Sensi et al. 2025.
#include "algorithms/pattern/butterfly.hpp"
#include "algorithms/pattern/movement.hpp"

namespace rubato {

schedule allgather_bine(const problem& p, rank me) {
    const folding fold(p.ranks);
    const halving parts{p, fold, me, pairing::bine};
    builder b(p, me, 1);
    const std::uint32_t position = parts.position(me);
    const rank holder = parts.rank_at(chunk_of(me));
    b.copy(b.input(), b.output(chunk_of(me)));
    if (holder != me) {
        b.send(holder, b.output(chunk_of(me)));  // not from the input, which may lie there and be written again
        b.recv(rank(static_cast<std::int32_t>(position)), b.output(position));
    }
    parts.allgather(b, b.output(0, fold.size));
    return std::move(b).finish();
}

}  // namespace rubato
