// What there is once per process: the background thread, and what MPI allows it.
#pragma once

#include "rubato/background.hpp"

#include <cstdint>

namespace rubato::mpi {

bool is_finalized();

/// Whether the background thread may call MPI. If it is wanted and MPI was not started so, warns once per process where
/// `warns` is set.
bool may_use_background(bool warns);

/// The watcher is called until stop_watch or, at the latest, the beginning of MPI_Finalize.
using watch_id = std::uint64_t;
watch_id watch_until_finalize(background::watcher w);
void stop_watch(watch_id id);

}  // namespace rubato::mpi
