// K-nomial gather. In each round groups of k ranks that still hold chunks shrink to one.
//
// Cost: n (L + k o) + (P - 1)/(k - 1) m G, n = ceil(log_k P), m = one chunk, k = radix, or 4, if a rank receives from
// several at once. Inner ranks hold their subtree's chunks in scratch.
// Rank counts: any; subtrees are intervals of ranks, so their chunks are consecutive for any root.
// Source: Hoefler & Moor 2014, 3.1.3.
#include "algorithms/pattern/movement.hpp"

namespace rubato {

schedule gather_knomial(const problem& p, rank me) {
    builder b(p, me, 1);
    gather_along(b, knomial_tree(p.ranks, p.root, me, p.radix_or(4)), me);
    return std::move(b).finish();
}

}  // namespace rubato
