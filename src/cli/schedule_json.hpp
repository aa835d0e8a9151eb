// All ranks' schedules of a problem as JSON, complete enough to rebuild them.
#pragma once

#include "rubato/problem.hpp"
#include "rubato/schedule.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace rubato::cli {

nlohmann::ordered_json schedules_to_json(std::string_view id, const problem& p, std::span<const schedule> all);

struct named_schedules {
    std::string id{};
    problem p{};
    std::vector<schedule> all{};
    bool equal_parts = false;  ///< see verify
};
/// Throws if something is missing or of another kind.
named_schedules schedules_from_json(std::string_view text);

}  // namespace rubato::cli
