// Chunks in an order of our choice: one rank after the other, or several ranks' in one message.
#pragma once

#include "algorithms/pattern/movement.hpp"

#include <span>
#include <vector>

namespace rubato {

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

}  // namespace rubato
