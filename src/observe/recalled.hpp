// What a run began with that earlier ones had learned, as notes of a recording and in observations.
#pragma once

#include "direct/experience.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace rubato::observe {

/// The file of earlier runs.
struct profile_read {
    std::string file{};  ///< empty: none was read
    std::int64_t runs = 0;
    std::size_t experiences = 0;
    bool network = false;  ///< its model was used, and nothing was measured

    bool operator==(const profile_read&) const = default;
};

/// What a communicator's director was given.
struct recalled {
    std::int32_t ranks = 0;
    experience what{};

    bool operator==(const recalled&) const = default;
};

void to_json(nlohmann::json& j, const profile_read& p);
void from_json(const nlohmann::json& j, profile_read& p);
void to_json(nlohmann::json& j, const recalled& r);
/// Throws if it makes no sense.
void from_json(const nlohmann::json& j, recalled& r);

/// On one line: {"profile": ...}, {"recalled": ...}.
std::string to_line(const profile_read& p);
std::string to_line(const recalled& r);

}  // namespace rubato::observe
