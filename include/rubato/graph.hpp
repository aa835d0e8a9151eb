// Who has data for whom, for neighbour collectives.
//
// For each chunk of a rank's output the rank and chunk where it comes from, for each chunk of its input where it goes;
// a chunk at the border of a grid goes nowhere. Edges are stored with both ends, so repeated edges, edges to oneself
// and grids with two ranks in a periodic dimension need no rule anywhere else. along_edges lists the edges of a rank by
// a key that is the same on both of its ranks: at any time the first edge left is the next one for both, so ranks need
// not send and receive at once. On a grid the key begins with the direction, so that no rank gets two messages at once;
// by arrival, the later arrival of the two ranks comes first.
#pragma once

#include "rubato/core.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato {

/// The other end of an edge: a rank, and which of its chunks goes along the edge. No rank: the border of a grid. There
/// is a chunk for it in the buffer, but it is neither sent nor received.
struct neighbour {
    std::int32_t rank = -1;
    std::int32_t chunk = 0;

    bool exists() const { return rank >= 0; }
    bool operator==(const neighbour&) const = default;
};

/// A graph in which all ranks have the same neighbours, as seen from their places in a torus.
struct RUBATO_API torus_view {
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

    bool operator==(const torus_view&) const = default;
};

class RUBATO_API graph {
public:
    /// Of each rank, the ranks from which its output's chunks come, and those for which its input's chunks are; -1:
    /// none. A rank may be its own neighbour, and another one's several times: of the edges from a to b, the first in
    /// a's list is the first in b's. Throws if some edge is in one list only.
    graph(const std::vector<std::vector<std::int32_t>>& sources,
          const std::vector<std::vector<std::int32_t>>& destinations);

    /// The same with both ends of each edge. Throws if the ends do not fit.
    graph(const std::vector<std::vector<neighbour>>& sources, const std::vector<std::vector<neighbour>>& destinations);

    /// Ranks in a grid, numbered along the last dimension first. Neighbours are the ranks before and behind in each
    /// dimension, in that order, as MPI has them. What is sent to the rank behind comes from the rank before, also in a
    /// periodic dimension of one or two ranks, where these are one rank.
    static graph grid(const std::vector<std::int32_t>& sizes, const std::vector<bool>& periodic);

    std::int32_t ranks() const { return static_cast<std::int32_t>(first_source_.size()) - 1; }
    /// For each chunk of a rank's output where it comes from, and for each of its input where it goes.
    std::span<const neighbour> sources(rank r) const { return list(sources_, first_source_, r); }
    std::span<const neighbour> destinations(rank r) const { return list(destinations_, first_destination_, r); }

    /// Of the rank that has most, on either side.
    std::int32_t most_chunks() const { return most_chunks_; }

    /// Of a grid, and which of its dimensions are periodic; else empty.
    const std::vector<std::int32_t>& sizes() const { return sizes_; }
    const std::vector<bool>& periodic() const { return periodic_; }

    /// If all ranks have the same neighbours in a torus; of several such tori, the one with the fewest directions. A
    /// grid's own sizes are tried, and all others of up to three dimensions: a distributed graph has none.
    const std::optional<torus_view>& torus() const { return torus_; }

    bool operator==(const graph&) const = default;

private:
    graph() = default;
    void look_at_all();
    std::optional<torus_view> find_torus() const;
    static std::span<const neighbour> list(const std::vector<neighbour>& all, const std::vector<std::size_t>& first,
                                           rank r) {
        const auto i = static_cast<std::size_t>(r.value);
        return std::span(all).subspan(first[i], first[i + 1] - first[i]);
    }

    std::vector<neighbour> sources_{};
    std::vector<neighbour> destinations_{};
    std::vector<std::size_t> first_source_{0};  // by rank, and the end
    std::vector<std::size_t> first_destination_{0};
    std::vector<std::int32_t> sizes_{};
    std::vector<bool> periodic_{};
    std::optional<torus_view> torus_{};
    std::int32_t most_chunks_ = 0;
};

/// "grid:4x4", "torus:4x4x2" (periodic), "moore:4x4" (a torus with all 8 ranks around, 26 in three dimensions), "ring",
/// "edges:0>1,1>0,2>2", "random:4" (so many destinations each, some of them the same; "random:4,seed=2"), "none"
/// (nobody has neighbours). Throws if the text makes no sense, or the ranks do not fit.
RUBATO_API std::shared_ptr<const graph> parse_graph(std::string_view text, std::int32_t ranks);
/// Graphs of every kind for that many ranks, as parse_graph reads them.
RUBATO_API std::vector<std::string> graphs_to_try(std::int32_t ranks);

}  // namespace rubato
