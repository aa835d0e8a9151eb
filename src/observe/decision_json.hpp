// Decisions as JSON objects: written by the drop-in, kept in observations, read by reports.
#pragma once

#include "direct/decision.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace rubato {

std::string_view name_of(decision::verdict v);

void to_json(nlohmann::json& j, const decision& d);
/// Throws if the verdict or the operation is unknown or missing, or something is of another kind.
void from_json(const nlohmann::json& j, decision& d);

/// On one line.
std::string to_line(const decision& d);

}  // namespace rubato
