// How many steps the schedules of a problem have and how much memory they take, told before they are made.
#pragma once

#include "rubato/algorithm.hpp"

namespace rubato {

struct step_counts {
    double most = 0;          ///< of the rank that has most
    double all = 0;           ///< of all ranks
    double planning = 0;      ///< what it takes to make them beyond that, in the time of so many simulated steps
    double bytes = 0;         ///< of memory, of all ranks' schedules
    double dependencies = 0;  ///< of all ranks
};

/// From the schedules of some ranks, or of a smaller problem where even these would be long. Throws if check() does.
RUBATO_API step_counts expected_steps(const algorithm& a, const problem& p);

}  // namespace rubato
