// Tree barrier. Signals that all have arrived go up a binomial tree to rank 0, and then down again.
//
// Cost: 2n (L + 2o), n = ceil(log2 P); only 2 (P - 1) messages in all.
// Rank counts: any.
// Source: Hoefler 2008, II.3.1.1.
#include "algorithms/pattern/tree.hpp"

namespace rubato {

schedule barrier_tree(const problem& p, rank me) {
    builder b(p, me, 1);
    barrier_on(b, knomial_tree(p.ranks, rank(0), me, 2));
    return std::move(b).finish();
}

}  // namespace rubato
