// A mistake of Open MPI 4.1 that the drop-in's communicator would bring out in other programs than before.
#pragma once

#include "mpi/datatype.hpp"

#include <mpi.h>

#include <array>

namespace rubato::preload {

/// MPI_Dist_graph_create tells ranks their edges by messages with the tags -50 and -51. Non-blocking collectives count
/// their tags down from -27, so the 24th and the 25th on a communicator have these, too. A communicator takes three
/// when it is made. If the ninth that is made from a communicator is a graph, ranks take messages for others, and wait
/// for ever. One more, ours, makes the program's eighth the ninth: so before that all ranks pass these tags.
/// Collective.
inline void pass_graph_tags([[maybe_unused]] MPI_Comm comm) {
#ifndef MPICH_VERSION
    std::array<MPI_Request, 25> all{};
    for (MPI_Request& r : all) mpi::check(PMPI_Ibarrier(comm, &r), "MPI_Ibarrier");
    mpi::check(PMPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
#endif
}

}  // namespace rubato::preload
