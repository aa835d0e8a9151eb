// Scatter and gather in an order of our choice: one rank after the other, or along a binomial tree that is set up by
// when ranks arrive.
#pragma once

#include "movement.hpp"

#include <span>
#include <vector>

namespace rubato {

/// All ranks but the root, in the order of ranks.
std::vector<rank> others(const problem& p);
/// The same, earliest first; those who arrive together in the order of ranks.
std::vector<rank> by_arrival(const problem& p);
/// Whether all but the root are predicted to arrive together, so that there is nothing to sort.
bool others_together(const problem& p);

/// Appends a scatter in which the root sends these ranks their chunks, one after the other.
void scatter_in_order(builder& b, const problem& p, rank me, std::span<const rank> order);
/// Appends a gather in which the root asks these ranks for their chunks, one after the other. A chunk comes in two
/// segments, and the next rank is asked when the first is there. The builder has two parts.
void gather_in_order(builder& b, const problem& p, rank me, std::span<const rank> order);

/// A binomial tree over a line of ranks whose first is the root. Going down it, twice as many ranks take part in each
/// round, as they stand in the line; going up it, they hand over in the reverse order. The last half are leaves.
class lined_up_tree {
public:
    lined_up_tree(const problem& p, rank me, const std::vector<rank>& after_root);

    struct branch {
        rank child;
        std::vector<rank> ranks;  ///< of its subtree, in the order in which their chunks travel: the child's is first
    };

    std::optional<rank> parent() const;
    /// In the order in which they are sent to.
    std::vector<branch> branches() const;

private:
    std::size_t size() const { return line_.size(); }
    /// The positions right below one, in the order in which they are sent to.
    std::vector<std::size_t> children(std::size_t at) const;
    void collect(std::size_t at, std::vector<rank>& ranks) const;

    std::vector<rank> line_;
    std::size_t mine_;
};

/// Chunks of these ranks in a buffer that has one for each rank, as runs of consecutive chunks.
std::vector<slice> chunk_runs(slice all, std::span<const rank> ranks);

}  // namespace rubato
