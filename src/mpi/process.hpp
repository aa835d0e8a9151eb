// State of the process: the background thread, and what MPI allows it to do.
#pragma once

#include "engine/background_thread.hpp"
#include "engine/mutual_help.hpp"

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <thread>

namespace rubato::mpi {

bool is_finalized();

/// Of this process alone; errors return. The handlers of MPI's own communicators are the program's, and other threads
/// may set them at any time.
MPI_Comm own_self();

/// The background thread of this process, started when a communicator first needs it.
RUBATO_API background& background_thread();

/// The communicators of this process that have calls under way.
RUBATO_API mutual_help& under_way_here();

/// For who waits, again and again.
inline void let_others_go_on() {
    (void)under_way_here().help(nullptr, false);  // another rank may wait for what was started before,
    std::this_thread::yield();                    // and one that this rank waits for may need this core
}

/// What is wrong with a variable of the background thread; empty if nothing is, or if nobody reads it.
std::string wrong_environment();

/// Whether the background thread may call MPI. If the user wants the thread and MPI's thread level does not allow it,
/// warns once per process if `warns` is set.
bool may_use_background(bool warns);

/// The watcher is called until stop_watch or, at the latest, the beginning of MPI_Finalize. Returns nothing, and warns,
/// if the thread cannot be bound to its core.
using watch_id = std::uint64_t;
std::optional<watch_id> watch_until_finalize(background::watcher w);
void stop_watch(watch_id id);

}  // namespace rubato::mpi
