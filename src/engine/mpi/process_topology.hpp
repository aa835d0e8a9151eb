// The neighbours that MPI's topologies give a communicator's ranks.
#pragma once

#include "rubato/graph.hpp"

#include <mpi.h>

#include <memory>
#include <string>

namespace rubato::engine {

/// Its kind, as MPI_Topo_test has it.
int topology_of(MPI_Comm comm);

/// How many chunks neighbour collectives have on this rank; none without a topology.
struct degrees {
    int sources = 0;
    int destinations = 0;
};

degrees degrees_of(MPI_Comm comm);
/// Of a rank in the graph; none without one.
inline degrees degrees_in(const graph* g, int r) {
    if (g == nullptr) return {};
    const rank me(r);
    return {static_cast<int>(g->sources(me).size()), static_cast<int>(g->destinations(me).size())};
}

/// A communicator of the same ranks with the neighbours of a graph as parse_graph reads it: Cartesian for a grid or
/// torus, else a distributed graph. Collective; the caller frees it.
RUBATO_API MPI_Comm with_neighbours(MPI_Comm comm, const std::string& graph_text);

/// Whether no rank has data for another one twice. If one does, as in a periodic dimension of one or two ranks, MPI 4.0
/// says which chunk is for which place, and Rubato does so; but Open MPI 4.1.4's non-blocking calls on grids, MPICH
/// 4.0.2's alltoallv on grids and its alltoall on graphs do otherwise.
RUBATO_API bool libraries_agree(const graph& g);

/// The whole graph, of a grid, a graph or a distributed graph; null without a topology, and where MPI allows no
/// neighbour collectives: an edge of a graph that is not there in both directions. `comm` has the topology, `ours` the
/// same ranks. Collective.
std::shared_ptr<const graph> neighbours_of(MPI_Comm comm, MPI_Comm ours);

}  // namespace rubato::engine
