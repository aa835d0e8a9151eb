// How a process uses its background thread: the thread that goes on with collectives while the process computes.
#pragma once

#include "rubato/core.hpp"

#include <optional>

namespace rubato {

enum class background_use : std::uint8_t {
    automatic,  ///< where MPI was started with MPI_THREAD_MULTIPLE
    wanted,     ///< likewise; a line says where MPI was not
    never,
};

struct background_settings {
    background_use when = background_use::automatic;
    time_ns interval = std::chrono::microseconds(100);  ///< between looks while something comes
    time_ns longest = std::chrono::milliseconds(1);     ///< while nothing does
    std::optional<int> core{};                          ///< where the thread stays
    std::optional<int> niceness{};  ///< of the thread, -20 (first) to 19 (last), as nice(1) has it; else the program's
};

}  // namespace rubato
