#pragma once

#include "results/results.hpp"

namespace rubato::bench {

/// What can be found out about this run, its hosts and its MPI library. Collective.
results::conditions conditions_here();

}  // namespace rubato::bench
