// Bine tree: a binomial tree whose partners are at the distances 1, -1, 3, -5, 11, ... instead of 1, 2, 4, 8, 16, so
// that data crosses a third fewer ranks. If near ranks are near in the network, its upper cables carry less.
//
// Cost: n (L + 2o + s G), n = ceil(log2 P).
// Rank counts: any. Beyond the largest power of two, the second of two neighbours gets the data last, from the first.
// Source: De Sensi et al. 2025; other rank counts: ours.
#include "algorithms/pattern/tree.hpp"

namespace rubato {

schedule bcast_bine(const problem& p, rank me) {
    builder b(p, me, 1);
    bcast_down(b, bine_tree(p.ranks, p.root, me));
    return std::move(b).finish();
}

}  // namespace rubato
