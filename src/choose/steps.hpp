// Estimates how many steps the schedules of a problem have before they are made.
#pragma once

#include "rubato/algorithm.hpp"

namespace rubato {

struct step_counts {
    double most = 0;      ///< of the rank that has most
    double all = 0;       ///< of all ranks
    double planning = 0;  ///< the extra time to make them, in simulated steps
};

/// From the schedules of some ranks, or of a smaller problem where even these would be long. Throws if check() does.
RUBATO_API step_counts expected_steps(const algorithm& a, const problem& p);

}  // namespace rubato
