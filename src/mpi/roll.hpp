// Roll calls of a communicator: what is said in them of its calls.
#pragma once

#include "engine/player.hpp"
#include "engine/roll_call.hpp"
#include "mpi/call_facts.hpp"

namespace rubato::mpi {

/// Throws if no roll can be called for it. All ranks find the same.
void check_roll_call(const selection& how);

roll_call::called called_by(const call_facts& c, bool refused);

/// How the call is made whoever is late. `quantum`: to which arrivals are rounded.
RUBATO_API roll_call::order order_for(const intent& what, time_ns quantum);

/// The call, planned by who is there.
RUBATO_API intent made_by(const roll_call::verdict& said, intent what);

}  // namespace rubato::mpi
