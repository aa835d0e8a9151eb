#include "schedules/algorithms/pattern/two_tree.hpp"

#include "schedules/algorithms/pattern/tree.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>

namespace rubato::schedules {
namespace {

/// The first tree: node i is above as many levels as i has trailing zero bits. 0 is the root that is in neither tree.
struct in_order_tree {
    std::int32_t nodes;

    std::int32_t top() const { return nodes == 0 ? 0 : static_cast<std::int32_t>(floor_power_of_two(nodes)); }
    std::int32_t parent(std::int32_t i) const {
        if (i == top()) return 0;
        do {  // levels that the last nodes do not reach are left out
            const std::int32_t low = i & -i;
            i = (i - low) | (2 * low);
        } while (i > nodes);
        return i;
    }
    /// Left and right; 0 is none.
    std::array<std::int32_t, 2> children(std::int32_t i) const {
        const std::int32_t low = i & -i;
        std::int32_t step = low / 2;
        while (step > 0 && i + step > nodes) step /= 2;
        return {low > 1 ? i - low / 2 : 0, step > 0 ? i + step : 0};
    }
};

class two_trees {
public:
    explicit two_trees(std::int32_t nodes) : nodes_(nodes), even_{nodes - nodes % 2} {}

    std::int32_t parent(int tree, std::int32_t i) const {
        if (tree == 0) return in_order_tree{nodes_}.parent(i);
        if (i > even_.nodes) return 0;
        const std::int32_t above = mirrored(even_.parent(mirrored(i)));
        return above == 0 && even_.nodes < nodes_ ? nodes_ : above;
    }
    std::array<std::int32_t, 2> children(int tree, std::int32_t i) const {
        if (i == 0) return {top(tree), 0};
        if (tree == 0) return in_order_tree{nodes_}.children(i);
        if (i > even_.nodes) return {mirrored(even_.top()), 0};
        const auto [left, right] = even_.children(mirrored(i));
        return {mirrored(right), mirrored(left)};
    }
    /// How many are below it in the tree in which it is no leaf.
    std::int32_t below(std::int32_t i) const {
        if (i > even_.nodes) return nodes_ - 1;
        const bool first = i % 2 == 0;
        const std::int32_t at = first ? i : mirrored(i);
        const std::int32_t left = (at & -at) - 1;
        return left + std::min(left, (first ? nodes_ : even_.nodes) - at);
    }
    /// When a broadcast uses the edge from the parent first.
    std::int32_t time(int tree, std::int32_t i) const {
        const std::int32_t above = parent(tree, i);
        const std::int32_t soonest = above == 0 ? 0 : time(tree, above) + 1;
        return soonest + (soonest + colour(tree, i)) % 2;
    }

private:
    std::int32_t mirrored(std::int32_t i) const { return i == 0 ? 0 : even_.nodes + 1 - i; }
    std::int32_t top(int tree) const {
        if (tree == 0) return in_order_tree{nodes_}.top();
        return even_.nodes < nodes_ ? nodes_ : mirrored(even_.top());
    }
    /// Of the edge from the parent, 0 or 1. The rules leave one choice only: a node's colours in the two trees differ,
    /// mirrored nodes have one colour in a tree (with 4k+3 nodes: different ones), and from an inner node upwards the
    /// colour changes with every step from one and the same side.
    int colour(int tree, std::int32_t i) const {
        int c = tree;
        if (i > even_.nodes) return c;
        if (i % 2 != 0) {
            i = mirrored(i);
            if (nodes_ % 4 == 3) c ^= 1;
        }
        const bool left = even_.nodes % 4 == 0;
        for (std::int32_t above = even_.parent(i); above != 0; i = above, above = even_.parent(i))
            if ((i < above) == left) c ^= 1;
        return c;
    }

    std::int32_t nodes_;
    in_order_tree even_;  // without the last node if there is an odd number of them
};

}  // namespace

std::vector<two_tree_edge> two_tree_edges(std::int32_t ranks, rank root, rank me) {
    const two_trees trees(ranks - 1);
    const auto rank_of = [&](std::int32_t node) { return around(root, node, ranks); };
    const std::int32_t node = around(me, -root.value, ranks).value;
    std::vector<two_tree_edge> edges;
    for (const int tree : {0, 1}) {
        if (node != 0) edges.push_back({rank_of(trees.parent(tree, node)), tree, true, trees.time(tree, node)});
        for (const std::int32_t child : trees.children(tree, node))
            if (child != 0) edges.push_back({rank_of(child), tree, false, trees.time(tree, child)});
    }
    return edges;
}

std::vector<rank> two_tree_nodes(std::int32_t ranks) {
    const two_trees trees(ranks - 1);
    std::vector<rank> nodes;
    for (std::int32_t i = 1; i < ranks; ++i) nodes.emplace_back(i);
    std::ranges::stable_sort(nodes, std::greater<>(), [&](rank r) { return trees.below(r.value); });
    return nodes;
}

std::vector<two_tree_message> in_lock_step(const std::vector<two_tree_edge>& edges, std::uint32_t segments,
                                           bool reduction) {
    std::vector<two_tree_message> messages;
    for (const two_tree_edge& e : edges)
        for (auto s = static_cast<std::uint32_t>(e.tree); s < segments; s += 2) messages.push_back({e, s});
    // At one time, what is sent comes before what is received, so that it need not wait for that to be combined.
    std::ranges::sort(messages, {}, [reduction](const two_tree_message& m) {
        const auto later = std::int64_t{m.segment / 2} * 2;
        return std::tuple(reduction ? later - m.edge.time : later + m.edge.time, m.edge.up != reduction, m.edge.tree);
    });
    return messages;
}

schedule bcast_on_two_trees(const problem& p, rank me, const std::vector<two_tree_edge>& edges) {
    builder b(p, me, std::max(p.segments, 2U));
    const slice data = me == p.root ? b.input() : b.output();
    for (const auto& [edge, segment] : in_lock_step(edges, b.parts(), false)) {
        if (edge.up)
            b.recv(edge.peer, data.sub(segment));
        else
            b.send(edge.peer, data.sub(segment));
    }
    return std::move(b).finish();
}

}  // namespace rubato::schedules
