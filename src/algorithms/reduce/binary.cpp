// K-ary tree, binary unless said otherwise. Segments are combined on their way up one behind the other.
//
// Cost: about k (d - 1 + N) (alpha + m/N (beta + gamma)) for N segments, d = depth of the tree.
// Rank counts: any; each interval of ranks without its root is cut into k equal pieces, so that the order is kept.
// Source: Hoefler & Moor 2014, 3.1.2 and 3.1.4.
#include "algorithms/pattern/tree.hpp"

namespace rubato {

schedule reduce_binary(const problem& p, rank me) {
    builder b(p, me, p.segments);
    reduce_up(b, p, me, kary_tree(p.ranks, p.root, me, p.radix_or(2)));
    return std::move(b).finish();
}

}  // namespace rubato
