// Persistent collectives: made once, and counted each time they start.
#pragma once

#include "observe/recorder.hpp"

#include <mpi.h>

namespace rubato::preload {

/// Ranks may start them in any order, and in any thread, so only sums are kept: in `where`, a part of the mapped file.
void remember(MPI_Request request, observe::sums& where, std::int64_t bytes) noexcept;

}  // namespace rubato::preload
