#pragma once

#include "results.hpp"

namespace rubato::cli {

/// What can be found out about this run, its hosts and its MPI library. Collective over MPI_COMM_WORLD.
results::conditions conditions_here();

}  // namespace rubato::cli
