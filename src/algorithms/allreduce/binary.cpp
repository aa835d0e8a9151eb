// Reduce, then broadcast, both on the k-ary tree of rank 0, and in segments. No rank sends more than k + 1 messages for
// a segment, however many ranks there are.
//
// Cost: about h (2 L + 2 (k + 1) o + (k + 1) s/N G) + (N - 1)(2 (k + 1) o + (k + 1) s/N G), h = depth of the tree, N =
// segments, k = radix, or 2.
// Rank counts: any; the order of operands is kept.
// Source: Hoefler & Moor 2014, 3.1.2, 3.1.4 and Table 2.
#include "algorithms/pattern/tree.hpp"

namespace rubato {

schedule allreduce_binary(const problem& p, rank me) {
    builder b(p, me, p.segments);
    const tree t = kary_tree(p.ranks, rank(0), me, p.radix_or(2));
    reduce_up(b, p, me, t);
    bcast_down(b, t, buffer::output);
    return std::move(b).finish();
}

}  // namespace rubato
