// Two-tree. Two binary trees combine every other segment each, and a rank that is inside one is a leaf of the other. So
// all links work all the time, unlike in one tree, whose leaves only send.
//
// Cost: about (2 n + N) (alpha + m/N (beta + gamma)) for N segments, at least one per tree, n = ceil(log2 P).
// Rank counts: any. If the operator does not commute and the root is neither the lowest nor the highest rank, the
// lowest one collects the result and passes it on, so that the order is kept; the root then receives twice as much.
// Source: Sanders, Speck, Traeff 2009; Marendic et al. 2016, Table 3.
#include "schedules/algorithms/pattern/two_tree.hpp"
#include "schedules/algorithms/builders.hpp"

#include "schedules/algorithms/pattern/partial.hpp"

#include <algorithm>
#include <map>

namespace rubato::schedules {

schedule reduce_two_tree(const problem& p, rank me) {
    const rank top = p.commutative || p.root.value == p.ranks - 1 ? p.root : rank(0);
    std::vector<two_tree_edge> edges = two_tree_edges(p.ranks, top, me);
    if (top != p.root && (me == top || me == p.root))
        for (const int tree : {0, 1}) edges.push_back({me == top ? p.root : top, tree, me == top, tree - 1});

    builder b(p, me, std::max(p.segments, 2U));
    slot_ring slots(b, 2);  // the most children in one tree; in the other a rank has none
    struct partial_sum {
        slice value;
        std::optional<slice> left{};  // not combined yet, as that would overwrite the input
    };
    std::map<std::uint32_t, partial_sum> sums;
    for (const auto& [edge, segment] : in_lock_step(edges, b.parts(), true)) {
        const slice result = b.output().sub(segment);
        if (!edge.up && edge.peer == top) {  // all is done
            b.recv(top, result);
            continue;
        }
        auto& [value, left] = sums.try_emplace(segment, partial_sum{b.input().sub(segment)}).first->second;
        const bool ends_here = me == p.root && me == top;
        if (!edge.up) {
            const bool on_right = p.commutative || edge.peer > me;
            const slice received = ends_here && on_right ? result : slots.take(segment, value);
            b.recv(edge.peer, received);
            if (on_right) {
                b.combine(value, received);
                value = received;
                if (left) b.combine(*left, value);
                left.reset();
            } else if (value.where == buffer::input) {
                left = received;
            } else {
                b.combine(received, value);
            }
        }
        if (left && (edge.up || ends_here)) {
            const slice own = ends_here ? result : slots.take(segment, *left);
            b.copy(value, own);
            b.combine(*left, own);
            value = own;
        }
        if (edge.up) {
            b.send(edge.peer, value);
            sums.erase(segment);
        }
    }
    if (p.ranks == 1) b.copy(b.input(), b.output());
    return std::move(b).finish();
}

}  // namespace rubato::schedules
