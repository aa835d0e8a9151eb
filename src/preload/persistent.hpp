// Persistent collectives: made once, and seen each time they start.
#pragma once

#include "communicator_state.hpp"

#include <mpi.h>

namespace rubato::preload {

/// `what` is a call as it will be recorded, without its times.
void remember(MPI_Request request, communicator_state& where, const observe::seen& what) noexcept;
/// Those of a communicator that is no more.
void forget_requests_of(const communicator_state& where) noexcept;

}  // namespace rubato::preload
