// Pipelined k-ary tree. Every rank passes each segment to at most k others, so that the time per segment does not grow
// with the number of ranks.
//
// Cost: about k (o + s/N G) N + (L + o + k (o + s/N G)) (n - 1), n = floor(log_k P), N = segments, k = radix, or 2.
// Rank counts: any; the k subtrees differ by one rank at most.
// Source: Hoefler & Moor 2014, 3.1.2 and 3.1.4.
#include "algorithms/pattern/tree.hpp"

namespace rubato {

schedule bcast_binary(const problem& p, rank me) {
    builder b(p, me, p.segments);
    bcast_down(b, rotated_kary_tree(p.ranks, p.root, me, p.radix_or(2)));
    return std::move(b).finish();
}

}  // namespace rubato
