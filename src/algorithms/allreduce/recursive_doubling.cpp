// Recursive doubling. In round j ranks whose numbers differ in bit j exchange all they have and combine it.
//
// Cost: n (alpha + m beta + m gamma), n = log2 P.
// Rank counts: any. Beyond the largest power of two, pairs of neighbours are folded into one rank before and served by
// it afterwards: 2 alpha + 2 m beta + m gamma more. The order of operands is kept, even if they commute: of 0 and -0,
// or a number and NaN, a maximum may be the left one, and all ranks must get the same. Source: Thakur, Rabenseifner,
// Gropp 2005, 4.5.
#include "algorithms/pattern/butterfly.hpp"
#include "algorithms/pattern/partial.hpp"

namespace rubato {

schedule allreduce_recursive_doubling(const problem& p, rank me) {
    builder b(p, me, 1);
    const folding fold(p.ranks);
    const auto mate = fold.mate(me);
    if (fold.gives(me)) {
        b.send(*mate, b.input());
        b.recv(*mate, b.output());
        return std::move(b).finish();
    }
    const std::uint32_t number = fold.number(me);
    int moves = 0;
    for (std::uint32_t bit = mate ? 1 : 2; bit < fold.size; bit *= 2)
        if ((number & bit) == 0) ++moves;
    partial sum = partial_vector(b, false, moves);
    if (mate) sum.absorb(*mate, true);
    for (std::uint32_t bit = 1; bit < fold.size; bit *= 2) {
        const rank peer = fold.keeper(number ^ bit);
        b.send(peer, sum.value());
        sum.absorb(peer, peer > me);
    }
    b.copy(sum.value(), b.output());
    if (mate) b.send(*mate, b.output());
    return std::move(b).finish();
}

}  // namespace rubato
