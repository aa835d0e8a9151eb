// Reduce, then broadcast, both on the binomial tree of rank 0.
//
// Cost: n (2 alpha + 2 m beta + m gamma), n = ceil(log2 P).
// Rank counts: any; the order of operands is kept.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.5.
#include "algorithms/pattern/tree.hpp"

namespace rubato {

schedule allreduce_reduce_bcast(const problem& p, rank me) {
    builder b(p, me, 1);
    const tree t = knomial_tree(p.ranks, rank(0), me, 2);
    reduce_up(b, p, me, t);
    bcast_down(b, t, buffer::output);
    return std::move(b).finish();
}

}  // namespace rubato
