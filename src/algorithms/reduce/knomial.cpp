// K-nomial tree. In each round groups of k ranks that still hold something shrink to one.
//
// Cost: ceil(log_k P) (k-1) (alpha + m beta + m gamma) with one port; fewer rounds than a binomial tree where a rank
// can receive from several at once.
// Rank counts: any; the interval of ranks is cut at powers of k, so that the order is kept.
// Source: Hoefler & Moor 2014, 3.1.3.
#include "algorithms/pattern/tree.hpp"

namespace rubato {

schedule reduce_knomial(const problem& p, rank me) {
    builder b(p, me, 1);
    reduce_up(b, p, me, knomial_tree(p.ranks, p.root, me, p.radix_or(4)));
    return std::move(b).finish();
}

}  // namespace rubato
