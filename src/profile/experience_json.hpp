// Experiences as JSON objects: kept in profiles and in recordings.
#pragma once

#include "direct/experience.hpp"

#include <nlohmann/json_fwd.hpp>

namespace rubato {

void to_json(nlohmann::json& j, const experience& e);
/// Throws if something is missing, of another kind, or makes no sense. An algorithm need not be one of this version.
void from_json(const nlohmann::json& j, experience& e);

}  // namespace rubato
