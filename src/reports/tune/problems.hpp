// What is to be tuned, and how long each way takes: by simulation, or as it was measured.
#pragma once

#include "reports/tune/library.hpp"
#include "rubato/model.hpp"

#include <string>
#include <vector>

namespace rubato::reports {

struct asked_problem {
    collective what = collective::barrier;
    std::int32_t ranks = 1;
    std::int64_t bytes = 0;
    std::int32_t root = 0;
    std::vector<std::vector<time_ns>> patterns{};  ///< arrivals of each rank
};

/// What ways are considered.
struct contenders {
    const library* of = nullptr;  ///< null: all of Rubato's
    bool early = false;           ///< also early forms
    bool commutative = true;      ///< operators commute
};

/// Patterns for a problem about whose arrivals nothing is known: all together; the last rank, or the root, late by the
/// time of a message with all bytes and by eight times that; up to so late at random.
std::vector<std::string> usual_patterns(std::int32_t ranks, std::int64_t bytes, const model& network,
                                        std::uint64_t seed);

/// The operations of a program that `rubato exec` observed, each with up to `most` of its invocations as patterns; only
/// those that all ranks of a communicator of two or more took part in.
std::vector<asked_problem> observed_problems(const std::string& file, std::size_t most);

/// The model of the network that the program noted; empty if it noted none.
std::string observed_model(const std::string& file);

/// Every way that can solve it under every pattern, simulated. Ways that cannot be simulated are left out.
timed_problem simulate_ways(const asked_problem& p, const model& network, const contenders& who);

/// The problems that were measured by `rubato bench`, with the medians of their run times: a library's own algorithms,
/// or Rubato's and the native call. A way must have been measured under all patterns of its problem. Throws if a file
/// cannot be read, or if none of these ways was measured.
std::vector<timed_problem> measured_ways(const std::vector<std::string>& files, const contenders& who);

}  // namespace rubato::reports
