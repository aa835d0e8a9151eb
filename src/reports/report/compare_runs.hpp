// Two runs of a program, as observed, beside each other: what the second gained.
#pragma once

#include "reports/report/observed.hpp"

#include <array>

namespace rubato::reports {

struct run_times {
    std::string file{};
    std::string summary{};
    std::string mode{};
    time_ns duration{};
    time_ns in_collectives{};  ///< mean over the ranks
    time_ns waiting{};         ///< of it, for late ranks
};

/// A place that both runs have, or one of them.
struct place_times {
    std::string place{};
    std::array<std::uint64_t, 2> calls{};
    std::array<time_ns, 2> time{};     ///< in its calls, mean over the ranks
    std::array<time_ns, 2> waiting{};  ///< of it
};

struct run_comparison {
    std::array<run_times, 2> runs{};
    std::vector<place_times> places{};  ///< the largest difference first
};

run_comparison compare_runs(const observed& first, const observed& second);

/// "The second run took 1.2 s less (12 %): ..."
std::string headline(const run_comparison& c);

nlohmann::ordered_json as_json(const run_comparison& c);

}  // namespace rubato::reports
