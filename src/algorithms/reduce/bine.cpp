// Bine tree, upwards: a binomial tree whose partners are at the distances 1, -1, 3, -5, 11, ... instead of 1, 2, 4, 8,
// 16, so that data crosses a third fewer ranks.
//
// Cost: n (alpha + m beta + m gamma), n = ceil(log2 P).
// Rank counts: any, as bcast/bine. The order of operands is not kept.
// Source: De Sensi et al. 2025; other rank counts: ours.
#include "algorithms/pattern/tree.hpp"

namespace rubato {

schedule reduce_bine(const problem& p, rank me) {
    builder b(p, me, 1);
    reduce_up(b, p, me, bine_tree(p.ranks, p.root, me));
    return std::move(b).finish();
}

}  // namespace rubato
