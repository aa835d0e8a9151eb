// Binomial tree. In each round half of the ranks that still hold something hand it to the other half.
//
// Cost: n (alpha + m beta + m gamma), n = ceil(log2 P). Optimal for data that cannot be cut.
// Rank counts: any; the interval of ranks is halved at powers of two, so that the depth is n and the order is kept.
// Source: Marendic et al. 2016, 5.5.1; Hoefler & Moor 2014, 3.1.3.
#include "algorithms/pattern/tree.hpp"

namespace rubato {

schedule reduce_binomial(const problem& p, rank me) {
    builder b(p, me, 1);
    reduce_up(b, p, me, knomial_tree(p.ranks, p.root, me, 2));
    return std::move(b).finish();
}

schedule reduce_binomial_own_last(const problem& p, rank me) {
    builder b(p, me, 1);
    reduce_up_own_last(b, p, me, knomial_tree(p.ranks, p.root, me, 2));
    return std::move(b).finish();
}

}  // namespace rubato
