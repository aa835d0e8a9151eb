// What is noted in a recording, kept in observations and read by reports, as JSON objects: decisions, when and how the
// run began, and what it began with that earlier ones had learned.
#pragma once

#include "dropin/direct/learned.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace rubato::dropin {

std::string_view name_of(decision::verdict v);

void to_json(nlohmann::json& j, const decision& d);
/// Throws if the verdict or the operation is unknown or missing, or something is of another kind.
void from_json(const nlohmann::json& j, decision& d);

/// On one line.
std::string to_line(const decision& d);

struct run_begun {
    std::int64_t when = 0;  ///< in seconds since 1970; 0: not known
    std::string command{};  ///< of rank 0, its words separated by spaces
};
/// This process, now.
run_begun begin_of_this();

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

// Reading throws if it makes no sense.
void to_json(nlohmann::json& j, const run_begun& r);
void from_json(const nlohmann::json& j, run_begun& r);
void to_json(nlohmann::json& j, const profile_read& p);
void from_json(const nlohmann::json& j, profile_read& p);
void to_json(nlohmann::json& j, const recalled& r);
void from_json(const nlohmann::json& j, recalled& r);

/// On one line: {"run": ...}, {"profile": ...}, {"recalled": ...}.
std::string to_line(const run_begun& r);
std::string to_line(const profile_read& p);
std::string to_line(const recalled& r);

}  // namespace rubato::dropin
