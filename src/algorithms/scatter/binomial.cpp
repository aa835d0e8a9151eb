// Binomial scatter. In each round every rank that has chunks for others passes on half of them.
//
// Cost: n alpha + (P - 1) m beta, n = ceil(log2 P), m = one chunk. Inner ranks hold their subtree's chunks in scratch.
// Rank counts: any; subtrees are intervals of ranks, so their chunks are consecutive for any root.
// Source: Proficz 2020, 2.1; Hoefler & Moor 2014, 3.1.3.
#include "algorithms/pattern/movement.hpp"

namespace rubato {

schedule scatter_binomial(const problem& p, rank me) {
    builder b(p, me, 1);
    scatter_along(b, knomial_tree(p.ranks, p.root, me, 2), me);
    return std::move(b).finish();
}

}  // namespace rubato
