// Chunks in an order of our choice: one rank after the other, or several ranks' in one message.
#pragma once

#include "schedules/algorithms/pattern/movement.hpp"

#include <optional>
#include <span>
#include <vector>

namespace rubato::schedules {

/// Appends a scatter in which the root sends these ranks their chunks, one after the other.
void scatter_in_order(builder& b, const problem& p, rank me, std::span<const rank> order);
/// Appends a gather in which the root asks these ranks for their chunks, one after the other. A chunk comes in two
/// segments, and the next rank is asked when the first is there. The builder has two parts.
void gather_in_order(builder& b, const problem& p, rank me, std::span<const rank> order);

/// The ranks whose chunks go to or from one rank in one message, in their order.
struct parcel {
    rank peer;
    std::vector<rank> ranks;
};

/// Chunks of these ranks in a buffer that has one for each rank, as runs of consecutive chunks.
std::vector<slice> chunk_runs(slice all, std::span<const rank> ranks);
/// These chunks of a buffer one after the other: where they are, if they are consecutive, else packed.
slice in_line(builder& b, slice input, std::span<const rank> ranks);
/// Room for these chunks in a line: where they belong in the output, if they are consecutive there, else scratch.
slice line_for(builder& b, slice output, std::span<const rank> ranks);
/// Copies them from that line to where they belong.
void unpack_line(builder& b, slice line, slice output, std::span<const rank> ranks);
/// Appends the root's receives of these, one after the other, each to its place.
void take_parcels(builder& b, slice output, std::span<const parcel> parcels);

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

}  // namespace rubato::schedules
