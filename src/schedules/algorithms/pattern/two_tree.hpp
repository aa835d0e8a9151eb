// Two binary trees over all ranks but the root, such that a rank that passes data on in one is a leaf of the other.
// Each tree carries every other segment, so every rank sends and receives about as much as the vector.
//
// Counted from the root on, ranks are nodes 1, 2, ... A subtree is an interval of nodes and its top lies between those
// of its children, so with the lowest or highest rank as root the order of operands is kept. One tree is the other one
// mirrored; if the number of nodes is odd, the last one is a leaf of the first tree and the top of the second.
//
// Edges have two colours, such that no rank sends, or receives, twice in one colour. In lock step, edges of one colour
// are used at even times and those of the other at odd times: no rank ever does two things at once.
// Source: Sanders, Speck, Traeff 2009.
#pragma once

#include "rubato/builder.hpp"

#include <vector>

namespace rubato::schedules {

/// An edge at this rank. It carries the segments 0, 2, 4, ... of tree 0 or 1, 3, 5, ... of tree 1.
struct two_tree_edge {
    rank peer;
    std::int32_t tree;
    bool up;            ///< to the parent
    std::int32_t time;  ///< when a broadcast in lock step uses it first, then at every other time
};

/// All edges of a rank.
std::vector<two_tree_edge> two_tree_edges(std::int32_t ranks, rank root, rank me);

/// Nodes 1, 2, ... of so many ranks, root included: those first that pass data on to most others, in the tree in which
/// they do.
std::vector<rank> two_tree_nodes(std::int32_t ranks);

/// A message over one of the edges.
struct two_tree_message {
    two_tree_edge edge;
    std::uint32_t segment;
};

/// All messages of these edges in the order of time, which runs backwards along the edges for a reduction.
std::vector<two_tree_message> in_lock_step(const std::vector<two_tree_edge>& edges, std::uint32_t segments,
                                           bool reduction);

/// A broadcast over these edges of a rank, in two segments or more.
/// Cost: about (2 n + N)(alpha + m/N beta) for N segments, n = ceil(log2 P).
schedule bcast_on_two_trees(const problem& p, rank me, const std::vector<two_tree_edge>& edges);

}  // namespace rubato::schedules
