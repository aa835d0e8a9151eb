#include "engine/mpi/process_topology.hpp"

#include "engine/mpi/datatype.hpp"
#include "engine/mpi/private_communicator.hpp"

#include <numeric>
#include <utility>
#include <vector>

namespace rubato::engine {
namespace {

using lists = std::vector<std::vector<std::int32_t>>;

std::shared_ptr<const graph> grid_of(MPI_Comm comm) {
    int dimensions = 0;
    check(MPI_Cartdim_get(comm, &dimensions), "MPI_Cartdim_get");
    const auto n = static_cast<std::size_t>(dimensions);
    std::vector<int> sizes(n);
    std::vector<int> periodic(n);
    std::vector<int> coordinates(n);
    if (n > 0) check(MPI_Cart_get(comm, dimensions, sizes.data(), periodic.data(), coordinates.data()), "MPI_Cart_get");
    return std::make_shared<const graph>(
        graph::grid({sizes.begin(), sizes.end()}, std::vector<bool>(periodic.begin(), periodic.end())));
}

/// Null if an edge is not there in both directions; all ranks find that.
std::shared_ptr<const graph> graph_of(const lists& from, const lists& to) {
    try {
        return std::make_shared<const graph>(from, to);
    } catch (const error&) {
        return nullptr;
    }
}

std::shared_ptr<const graph> graph_of(MPI_Comm comm) {
    int nodes = 0;
    int edges = 0;
    check(MPI_Graphdims_get(comm, &nodes, &edges), "MPI_Graphdims_get");
    std::vector<int> ends(static_cast<std::size_t>(nodes));
    std::vector<int> neighbours(static_cast<std::size_t>(edges));
    neighbours.reserve(1);  // Open MPI refuses a null pointer even if there are no edges
    check(MPI_Graph_get(comm, nodes, edges, ends.data(), neighbours.data()), "MPI_Graph_get");
    lists all;
    auto at = neighbours.begin();
    for (const int end : ends) {
        const auto next = neighbours.begin() + end;
        all.emplace_back(at, next);
        at = next;
    }
    return graph_of(all, all);
}

/// Every rank's list.
lists gathered(const std::vector<int>& mine, MPI_Comm ours) {
    const auto ranks = static_cast<std::size_t>(size_of(ours));
    const int count = static_cast<int>(mine.size());
    std::vector<int> counts(ranks);
    check(PMPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, ours), "MPI_Allgather");
    std::vector<int> places(ranks);
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
    std::vector<int> all(static_cast<std::size_t>(places.back() + counts.back()));
    check(PMPI_Allgatherv(mine.data(), count, MPI_INT, all.data(), counts.data(), places.data(), MPI_INT, ours),
          "MPI_Allgatherv");
    lists result;
    for (std::size_t r = 0; r < ranks; ++r)
        result.emplace_back(all.begin() + places[r], all.begin() + places[r] + counts[r]);
    return result;
}

std::shared_ptr<const graph> distributed_graph_of(MPI_Comm comm, MPI_Comm ours) {
    const degrees d = degrees_of(comm);
    std::vector<int> sources(static_cast<std::size_t>(d.sources));
    std::vector<int> destinations(static_cast<std::size_t>(d.destinations));
    std::vector<int> weights(std::max(sources.size(), destinations.size()) + 1);
    check(MPI_Dist_graph_neighbors(comm, d.sources, sources.data(), weights.data(), d.destinations, destinations.data(),
                                   weights.data()),
          "MPI_Dist_graph_neighbors");
    const lists from = gathered(sources, ours);
    return graph_of(from, gathered(destinations, ours));
}

}  // namespace

int topology_of(MPI_Comm comm) {
    int kind = MPI_UNDEFINED;
    check(MPI_Topo_test(comm, &kind), "MPI_Topo_test");
    return kind;
}

degrees degrees_of(MPI_Comm comm) {
    degrees d;
    switch (topology_of(comm)) {
        case MPI_CART: {
            int dimensions = 0;
            check(MPI_Cartdim_get(comm, &dimensions), "MPI_Cartdim_get");
            d.sources = d.destinations = 2 * dimensions;
            break;
        }
        case MPI_GRAPH: {
            check(MPI_Graph_neighbors_count(comm, rank_in(comm), &d.sources), "MPI_Graph_neighbors_count");
            d.destinations = d.sources;
            break;
        }
        case MPI_DIST_GRAPH: {
            int weighted = 0;
            check(MPI_Dist_graph_neighbors_count(comm, &d.sources, &d.destinations, &weighted),
                  "MPI_Dist_graph_neighbors_count");
            break;
        }
        default: break;
    }
    return d;
}

MPI_Comm with_neighbours(MPI_Comm comm, const std::string& graph_text) {
    const std::shared_ptr<const graph> g = parse_graph(graph_text, size_of(comm));
    MPI_Comm made = MPI_COMM_NULL;
    if (!g->sizes().empty()) {
        const std::vector<int> sizes(g->sizes().begin(), g->sizes().end());
        const std::vector<int> periodic(g->periodic().begin(), g->periodic().end());
        check(MPI_Cart_create(comm, static_cast<int>(sizes.size()), sizes.data(), periodic.data(), 0, &made),
              "MPI_Cart_create");
        return made;
    }
    const auto ranks_of = [](std::span<const neighbour> all) {
        std::vector<int> ranks;
        for (const neighbour& n : all) ranks.push_back(n.rank);
        return ranks;
    };
    const rank me(rank_in(comm));
    const std::vector<int> sources = ranks_of(g->sources(me));
    const std::vector<int> destinations = ranks_of(g->destinations(me));
    check(MPI_Dist_graph_create_adjacent(comm, static_cast<int>(sources.size()), sources.data(), MPI_UNWEIGHTED,
                                         static_cast<int>(destinations.size()), destinations.data(), MPI_UNWEIGHTED,
                                         MPI_INFO_NULL, 0, &made),
          "MPI_Dist_graph_create_adjacent");
    return made;
}

std::shared_ptr<const graph> neighbours_of(MPI_Comm comm, MPI_Comm ours) {
    switch (topology_of(comm)) {
        case MPI_CART: return grid_of(comm);
        case MPI_GRAPH: return graph_of(comm);
        case MPI_DIST_GRAPH: return distributed_graph_of(comm, ours);
        default: return nullptr;
    }
}

bool libraries_agree(const graph& g) {
    std::vector<std::int32_t> last_seen_by(static_cast<std::size_t>(g.ranks()), -1);
    for (rank r; r.value < g.ranks(); ++r.value)
        for (const neighbour& n : g.sources(r))
            if (n.exists() && std::exchange(last_seen_by[static_cast<std::size_t>(n.rank)], r.value) == r.value)
                return false;
    return true;
}

}  // namespace rubato::engine
