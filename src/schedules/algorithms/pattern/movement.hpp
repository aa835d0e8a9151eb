// What the algorithms that only move data share.
//
// A slice often holds one piece for each rank of an interval: the chunks of a buffer, or the blocks of a vector that is
// cut into one per rank. Pieces are named by their ranks.
#pragma once

#include "schedules/algorithms/pattern/tree.hpp"

#include <functional>

namespace rubato::schedules {

constexpr std::uint32_t chunk_of(rank r) { return static_cast<std::uint32_t>(r.value); }

/// Of a slice with one piece for each rank of `whole`, the pieces of the ranks in `part`.
slice pieces(slice data, interval whole, interval part);
inline slice piece(slice data, interval whole, rank r) { return pieces(data, whole, {r.value, r.value + 1}); }

/// The ranks first, first + 1, ... (n of them) around the ring, as one or two intervals.
std::vector<interval> ring_runs(rank first, std::int32_t n, std::int32_t ranks);
/// The same as slices of `all`, which has a piece for each rank.
std::vector<slice> ring_slices(slice all, rank first, std::int32_t n, std::int32_t ranks);
/// Copies a line of pieces to the places they belong to, one slice after the other.
void unpack(builder& b, slice line, const std::vector<slice>& places);

/// Appends a scatter down the tree; `data` has one piece for each rank of the subtree.
void scatter_down(builder& b, const tree& t, slice data);
/// Appends a scatter or a gather along a tree, one message for each child. Inner ranks hold their subtree's chunks in
/// scratch.
void scatter_along(builder& b, const tree& t, rank me);
void gather_along(builder& b, const tree& t, rank me);
/// The same in as many messages for each child as there are parts of a chunk. Those for far ranks come first in a
/// scatter and leave last in a gather, so that data is passed on as it comes. For k-ary trees, where a rank is at one
/// end of what it covers.
void scatter_in_segments(builder& b, const tree& t, rank me);
void gather_in_segments(builder& b, const tree& t, rank me);
/// Only the messages of the gather; `data` is the room of the subtree, and has this rank's chunk.
void gather_segments(builder& b, const tree& t, rank me, slice data);
/// Room for what passes through a rank when a vector is gathered that is cut into a block for each position of the
/// tree: the output at the root, else scratch.
slice gather_room(builder& b, const tree& t);
/// Appends a gather up the tree. The tree is over positions, and `rank_at` gives the rank at one.
void gather_up(builder& b, const tree& t, slice data, const std::function<rank(rank)>& rank_at);

/// Appends an allgather in which all pieces go around the ring. `own` is this rank's piece, `all` has room for the
/// pieces of all ranks. `mine` and `theirs` are the pieces that this rank and the next already have, at least their
/// own; these are not sent.
void pass_around(builder& b, rank me, std::int32_t ranks, slice own, slice all, interval mine, interval theirs);

/// Appends the rounds of a dissemination of empty messages to `ways` ranks each.
void disseminate(builder& b, rank me, std::int32_t ranks, std::int32_t ways);

}  // namespace rubato::schedules
