// How communicators and the background thread of the process work.
#pragma once

#include "rubato/background.hpp"
#include "rubato/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rubato::mpi {

/// How a communicator works.
struct settings {
    // Rank 0's, of all ranks:
    std::string predictor = "average:window=5";  ///< of arrivals; `rubato predict --help` lists them
    std::int32_t exchange_every = 8;             ///< calls of an operation: how often ranks tell when they arrived
    /// Smaller operations, in bytes, are not announced, and nobody exchanges for them unless all say beforehand when
    /// they will come. V-forms, whose sizes differ, count as large.
    std::int64_t from_bytes = std::int64_t{4} << 10;
    time_ns quantum{};  ///< arrivals are rounded to multiples of it; 0: half of the round time
    // Of this rank:
    std::size_t most_plans = std::size_t{64} << 20;  ///< bytes of plans that are kept
    std::size_t most_early = std::size_t{64} << 20;  ///< bytes kept for a rank that has not arrived
    bool background = true;                          ///< let the process's background thread work for it
    own_clock clock = own_time;
    bool clock_is_common = false;       ///< it shows the same on all ranks already; on all ranks or none
    std::vector<std::int32_t> hosts{};  ///< of each rank, see problem; empty, on all ranks or none: as MPI reports them
    /// Of each rank, see problem: algorithms then take near ranks one after the other. Rank 0's are used, as places_in
    /// (rubato/reorder.hpp) finds them; empty: nothing is known of the network.
    std::vector<std::int32_t> places{};
};

/// Of the background thread of this process, which is started when a communicator first needs it. Unless this is
/// called, they are read from the environment: RUBATO_BACKGROUND (auto, on or off), RUBATO_BACKGROUND_CORE,
/// RUBATO_BACKGROUND_NICE and RUBATO_BACKGROUND_INTERVAL. Throws once the thread is in use.
RUBATO_API void set_background(const background_settings& how);

}  // namespace rubato::mpi
