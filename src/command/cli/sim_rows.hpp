// What `rubato sim` shows of algorithms.
#pragma once

#include "command/cli/work_estimate.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/cost.hpp"

#include <optional>

namespace rubato::command {

/// Known only from a simulation of all ranks.
struct details {
    std::vector<time_ns> exits{};
    cost counted{};
    double joules = 0;
    std::int64_t memory = 0;
};

struct simulated_row {
    const algorithm* a = nullptr;
    std::optional<std::string> skipped{};
    problem p{};            ///< with this algorithm's own parameters
    work_estimate takes{};  ///< to simulate all ranks
    time_ns run{};
    time_ns tail{};
    time_ns absorption{};
    std::optional<details> all{};  ///< nothing: extrapolated from fewer ranks
};

std::string text_of(const std::vector<simulated_row>& rows, const std::string& heading);
std::string json_of(const std::vector<simulated_row>& rows);

}  // namespace rubato::command
