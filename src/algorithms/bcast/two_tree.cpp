// Two-tree. Two binary trees carry every other segment each, and a rank that passes data on in one is a leaf of the
// other. So all links work all the time, unlike in one tree, whose leaves only receive.
//
// Cost: about (2 n + N) (alpha + m/N beta) for N segments, at least one per tree, n = ceil(log2 P).
// Rank counts: any.
// Source: Sanders, Speck, Traeff 2009.
#include "algorithms/pattern/two_tree.hpp"

#include <algorithm>

namespace rubato {

schedule bcast_two_tree(const problem& p, rank me) {
    builder b(p, me, std::max(p.segments, 2U));
    const slice data = me == p.root ? b.input() : b.output();
    for (const auto& [edge, segment] : in_lock_step(two_tree_edges(p.ranks, p.root, me), b.parts(), false)) {
        if (edge.up)
            b.recv(edge.peer, data.sub(segment));
        else
            b.send(edge.peer, data.sub(segment));
    }
    return std::move(b).finish();
}

}  // namespace rubato
