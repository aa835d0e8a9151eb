// Linear barrier. Every rank tells rank 0 that it has arrived; when all have, rank 0 tells every rank.
//
// Cost: 2 (L + 2o) + 2 (P - 2) g; only 2 (P - 1) messages in all, so where processors are the limit it is the quickest.
// Rank counts: any.
// Source: Hoefler 2008, II.3.1.1.
#include "algorithms/pattern/tree.hpp"

#include <algorithm>

namespace rubato {

schedule barrier_linear(const problem& p, rank me) {
    builder b(p, me, 1);
    barrier_on(b, knomial_tree(p.ranks, rank(0), me, std::max(2, p.ranks)));
    return std::move(b).finish();
}

}  // namespace rubato
