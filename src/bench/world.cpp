#include "bench/world.hpp"

#include "mpi/datatype.hpp"
#include "mpi/topology.hpp"

namespace rubato::bench {

neighbourhood::neighbourhood(const std::string& graph_text) {
    if (graph_text.empty()) return;
    world = mpi::with_neighbours(MPI_COMM_WORLD, graph_text);
    mpi::check(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

neighbourhood::~neighbourhood() {
    if (world != MPI_COMM_WORLD) MPI_Comm_free(&world);
    world = MPI_COMM_WORLD;
}

}  // namespace rubato::bench
