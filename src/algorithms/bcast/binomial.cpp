// Binomial tree. In each round every rank that has the data passes it to one that has not.
//
// Cost: n (L + 2o + s G), n = ceil(log2 P).
// Rank counts: any; the interval of ranks is halved at powers of two, so that the depth is n.
// Source: Hoefler & Moor 2014, 3.1.3.
#include "algorithms/pattern/tree.hpp"

namespace rubato {

schedule bcast_binomial(const problem& p, rank me) {
    builder b(p, me, 1);
    bcast_down(b, knomial_tree(p.ranks, p.root, me, 2));
    return std::move(b).finish();
}

}  // namespace rubato
