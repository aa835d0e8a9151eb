// Sorted two-tree, for many ranks and segments. The two trees of bcast/two_tree, in which the first ranks to arrive
// have the most ranks below them, and the last ones the fewest.
//
// Cost: about (2 n + N)(alpha + s/N beta), n = ceil(log2 P), N segments, at least one per tree, if all have arrived: a
// chain takes P + N - 2 such steps. Every rank passes data on in one of the trees, so a rank that arrives T after the
// others delays half of the data of two of them, and of ranks that are served in turn with it. These get it as the late
// rank does: the larger of the above and T + (N + c)(alpha + s/N beta), c = 9 to 13 in simulation; begun early, the
// larger of that and T. Rank counts: any. Without predicted arrivals the order is that of ranks. Source: ours, after
// Sanders, Speck, Traeff 2009.
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/two_tree.hpp"

#include <algorithm>

namespace rubato {

std::vector<schedule> bcast_sorted_two_tree(const problem& p, std::span<const rank> who) {
    const std::vector<rank> line = by_arrival(p);
    const std::vector<rank> nodes = two_tree_nodes(p.ranks);
    std::vector<rank> rank_at(line.size() + 1, p.root);
    std::vector<rank> node_of(line.size() + 1);
    for (std::size_t i = 0; i < line.size(); ++i) {
        rank_at[static_cast<std::size_t>(nodes[i].value)] = line[i];
        node_of[static_cast<std::size_t>(line[i].value)] = nodes[i];
    }
    return build_each(who, [&](rank me) {
        builder b(p, me, std::max(p.segments, 2U));
        const slice data = me == p.root ? b.input() : b.output();
        const auto edges = two_tree_edges(p.ranks, rank(0), node_of[static_cast<std::size_t>(me.value)]);
        for (const auto& [edge, segment] : in_lock_step(edges, b.parts(), false)) {
            const rank peer = rank_at[static_cast<std::size_t>(edge.peer.value)];
            if (edge.up)
                b.recv(peer, data.sub(segment));
            else
                b.send(peer, data.sub(segment));
        }
        return std::move(b).finish();
    });
}

}  // namespace rubato
