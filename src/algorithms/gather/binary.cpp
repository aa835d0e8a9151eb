// Pipelined k-ary tree. Every rank hands the chunks of its subtree over in N messages, while further ones come in.
//
// Cost: about h (L + o + k o) + N k o + (P - 1)/k m G, m = one chunk, h = depth of the tree, N = segments, k = radix,
// or 2, if a rank receives from several at once. Inner ranks hold their subtree's chunks in scratch. Rank counts: any;
// subtrees are intervals of ranks, so their chunks are consecutive for any root. Source: Hoefler & Moor 2014, 3.1.2
// and 3.1.4; their segments hold a part of each chunk, ours consecutive bytes.
#include "algorithms/pattern/movement.hpp"

namespace rubato {

schedule gather_binary(const problem& p, rank me) {
    builder b(p, me, p.segments);
    gather_in_segments(b, kary_tree(p.ranks, p.root, me, p.radix_or(2)), me);
    return std::move(b).finish();
}

}  // namespace rubato
