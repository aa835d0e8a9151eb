// Roll calls of a communicator: what is said in them of its calls.
#pragma once

#include "engine/rolled.hpp"
#include "mpi/call_facts.hpp"

namespace rubato::mpi {

/// Throws if no roll can be called for it. All ranks find the same.
void check_roll_call(const selection& how);

roll_call::called called_by(const call_facts& c, bool refused);

}  // namespace rubato::mpi
