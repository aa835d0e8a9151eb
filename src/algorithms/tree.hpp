// Trees over ranks, as one rank sees them, and the two ways to use one: data goes down it, or is combined up it.
//
// Every subtree covers an interval of consecutive ranks, and children are listed with the farther intervals first. So a
// combination that takes them in reverse always joins neighbouring intervals, and the order of operands is kept for
// any root, without renumbering ranks.
#pragma once

#include "rubato/builder.hpp"

#include <optional>
#include <vector>

namespace rubato {

struct tree {
    std::optional<rank> parent{};
    std::vector<rank> children{};  ///< in the order in which they are sent to
};

/// Intervals are cut into pieces of a power of k, so the depth is ceil(log_k ranks); k = 2 is the binomial tree.
/// Throws if k is below 2.
tree knomial_tree(std::int32_t ranks, rank root, rank me, std::int32_t k);
/// The interval without its root is cut into k equal pieces; complete when the sizes allow.
tree kary_tree(std::int32_t ranks, rank root, rank me, std::int32_t k);
/// One line of ranks that ends in the root, as if the ranks were in a ring; does not keep the order of operands.
tree ring_chain(std::int32_t ranks, rank root, rank me);
/// Two lines, from the lowest and from the highest rank, that meet in the root; keeps the order of operands.
tree two_sided_chain(std::int32_t ranks, rank root, rank me);

/// Appends a broadcast down the tree, one part after the other. The root's data is its input, unless said otherwise.
void bcast_down(builder& b, const tree& t, buffer root_data = buffer::input);
/// Appends a reduction up the tree, one part after the other. The root's result is its output.
void reduce_up(builder& b, const problem& p, rank me, const tree& t);

}  // namespace rubato
