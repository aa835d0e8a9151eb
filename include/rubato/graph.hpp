// Who has data for whom, for neighbour collectives.
#pragma once

#include "rubato/core.hpp"

#include <memory>
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

    /// Of a grid, and which of its dimensions are periodic; else empty.
    const std::vector<std::int32_t>& sizes() const { return sizes_; }
    const std::vector<bool>& periodic() const { return periodic_; }

    bool operator==(const graph&) const = default;

private:
    graph() = default;
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
};

/// "grid:4x4", "torus:4x4x2" (periodic), "moore:4x4" (a torus with all 8 ranks around, 26 in three dimensions), "ring",
/// "edges:0>1,1>0,2>2", "random:4" (so many destinations each, some of them the same; "random:4,seed=2"), "none"
/// (nobody has neighbours). Throws if the text makes no sense, or the ranks do not fit.
RUBATO_API std::shared_ptr<const graph> parse_graph(std::string_view text, std::int32_t ranks);
/// Graphs of every kind for that many ranks, as parse_graph reads them.
RUBATO_API std::vector<std::string> graphs_to_try(std::int32_t ranks);

}  // namespace rubato
