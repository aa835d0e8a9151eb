// What a director has learned of an operation, for the next run of the same program.
#pragma once

#include "arrival/operation.hpp"

#include <optional>
#include <string>
#include <vector>

namespace rubato {

struct experience {
    struct times {
        time_ns tail{};  ///< from the last arrival to the last exit
        time_ns pace{};  ///< from one call to the next

        bool operator==(const times&) const = default;
    };

    operation kind{};
    std::int64_t bytes = 0;    ///< of a call that the times are for
    std::string algorithm{};   ///< the plan that made the calls at last; empty: the native collective did
    std::int64_t segment = 0;  ///< bytes
    time_ns round_time{};
    bool rolls = false;  ///< roll was called for it
    times of_native{};
    times of_plan{};                  ///< if there was one
    std::vector<time_ns> arrivals{};  ///< as they are expected, one per rank, the earliest at 0; may be empty

    bool operator==(const experience&) const = default;
};

/// A rank, and how long after the earliest it is expected.
struct late_rank {
    rank who{};
    time_ns by{};
};
/// Nobody if all are expected together, or nothing is known.
RUBATO_API std::optional<late_rank> latest(const experience& e);

}  // namespace rubato
