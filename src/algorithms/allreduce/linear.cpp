// Linear: everybody sends to rank 0, which combines what comes and sends the result to everybody.
//
// Cost: (P - 1)(2 alpha + 2 m beta + m gamma), at rank 0; only 2 (P - 1) messages in all, so where processors are the
// limit it is the quickest for small vectors.
// Rank counts: any; the order of operands is kept.
// Source: Hoefler & Moor 2014, 3.1.1 (flat tree).
#include "algorithms/pattern/tree.hpp"

#include <algorithm>

namespace rubato {

schedule allreduce_linear(const problem& p, rank me) {
    builder b(p, me, 1);
    const tree t = knomial_tree(p.ranks, rank(0), me, std::max(2, p.ranks));
    reduce_up(b, p, me, t);
    bcast_down(b, t, buffer::output);
    return std::move(b).finish();
}

}  // namespace rubato
