// Recursive doubling with Bine's partners: in each round, pairs exchange all they have and combine it. The farthest
// come first: then those who have the same sum have added it up in the same way, and all ranks get the same result.
//
// Cost: n (alpha + m beta + m gamma), n = log2 P.
// Rank counts: any. Beyond the largest power of two, pairs of neighbours are folded into one rank before and served by
// it afterwards: 2 alpha + 2 m beta + m gamma more. The order of operands is that of positions (halving::position).
// Source: De Sensi et al. 2025.
#include "algorithms/pattern/butterfly.hpp"
#include "algorithms/pattern/partial.hpp"

namespace rubato {

schedule allreduce_bine_doubling(const problem& p, rank me) {
    builder b(p, me, 1);
    const folding fold(p.ranks);
    const auto mate = fold.mate(me);
    if (fold.gives(me)) {
        b.send(*mate, b.input());
        b.recv(*mate, b.output());
        return std::move(b).finish();
    }
    const halving parts{p, fold, me, pairing::bine};
    const std::uint32_t position = parts.position(me);
    int moves = 0;
    for (std::uint32_t n = mate ? 1 : 2; n < fold.size; n *= 2)
        if ((position & n) == 0) ++moves;
    partial sum = partial_vector(b, false, moves);
    if (mate) sum.absorb(*mate, true);
    for (std::uint32_t n = 1; n < fold.size; n *= 2) {
        const rank peer = parts.peer(n);
        b.send(peer, sum.value());
        sum.absorb(peer, (position & n) == 0);
    }
    b.copy(sum.value(), b.output());
    if (mate) b.send(*mate, b.output());
    return std::move(b).finish();
}

}  // namespace rubato
