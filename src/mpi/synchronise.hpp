// The common clock of a communicator's ranks, over MPI messages.
#pragma once

#include "rubato/clock.hpp"

#include <mpi.h>

namespace rubato::mpi {

/// Synchronises the clocks of all ranks of `comm`, which must be ours: collective, with `tag` used for nothing else
/// meanwhile. The first time takes some 40 round trips per step of the tree, later ones some 10.
void synchronise(MPI_Comm comm, int tag, common_clock& clock, const sync_settings& settings = {});

}  // namespace rubato::mpi
