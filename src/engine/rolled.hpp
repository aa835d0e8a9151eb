// A call and the verdict of its roll call.
#pragma once

#include "engine/player.hpp"
#include "engine/roll_call.hpp"

namespace rubato {

/// How the call is made whoever is late. `quantum`: to which arrivals are rounded.
RUBATO_API roll_call::order order_for(const intent& what, time_ns quantum);

/// The call, planned by who is there.
RUBATO_API intent made_by(const roll_call::verdict& said, intent what);

}  // namespace rubato
