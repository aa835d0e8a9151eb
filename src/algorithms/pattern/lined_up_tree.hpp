// A binomial tree in the order of arrival.
#pragma once

#include "algorithms/pattern/in_order.hpp"

#include <optional>
#include <vector>

namespace rubato {

/// A binomial tree over a line of ranks whose first is the root. Going down, twice as many ranks take part in each
/// round, in the order of the line; going up, they send in the reverse order. The last half are leaves.
class lined_up_tree {
public:
    lined_up_tree(rank root, rank me, const std::vector<rank>& after_root);

    std::optional<rank> parent() const;
    /// For the parts that are equal for all ranks.
    tree shape() const;
    /// In the order in which they are sent to; of each, the child's own chunk travels first.
    std::vector<parcel> branches() const;

private:
    std::size_t size() const { return line_.size(); }
    /// The positions right below one, in the order in which they are sent to.
    std::vector<std::size_t> children(std::size_t at) const;
    void collect(std::size_t at, std::vector<rank>& ranks) const;

    std::vector<rank> line_;
    std::size_t mine_;
};

/// Appends a gather up the tree, in which a subtree's chunks travel in the order in which they were handed over. The
/// root unpacks them to `output`, which has one for each rank, unless they are consecutive already.
void gather_lined_up(builder& b, rank me, const lined_up_tree& t, slice output);

}  // namespace rubato
