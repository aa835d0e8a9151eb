// What the algorithms for neighbour collectives share.
#pragma once

#include "rubato/builder.hpp"

#include <optional>
#include <vector>

namespace rubato {

/// Every edge by one message, or a copy. Edges are in one order for all ranks, so that ranks do not wait for each other
/// in a circle: at any time the first edge that is left is the next one for both of its ranks. `by_arrival`: those
/// whose ranks are there sooner come first.
schedule along_edges(const problem& p, rank me, bool by_arrival);

/// The same for a reduction: every rank's vector goes to each of its neighbours once. `by_arrival`: what comes is
/// combined when it comes, in any order.
schedule reduced_along_edges(const problem& p, rank me, bool by_arrival);

/// All that goes from one host to another, in one message: by way of the first of a host's ranks to come. Within a
/// host, what a rank has for another is one message.
schedule between_hosts(const problem& p, rank me);

/// A graph in which all ranks have the same neighbours, as seen from their places in a torus.
struct torus_view {
    std::vector<std::int32_t> sizes{};  ///< ranks are numbered along the last dimension first
    /// Of each chunk of the input, how far it goes in each dimension, 0 to size - 1, and which chunk of the output it
    /// is there.
    std::vector<std::vector<std::int32_t>> offsets{};
    std::vector<std::uint32_t> targets{};

    /// The rank so far away along a dimension.
    rank shifted(rank from, std::size_t dimension, std::int32_t by) const;
    /// Over all dimensions, the different distances that chunks go: as many messages are needed if chunks go along one
    /// dimension after the other, and those that go the same way travel together.
    std::size_t directions() const;
};

/// If the graph is several such tori, the one with the fewest directions; nothing if it is none.
std::optional<torus_view> torus_of(const graph& g);

}  // namespace rubato
