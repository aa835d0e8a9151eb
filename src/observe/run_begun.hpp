// When a program began and by which command, as a note of a recording.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace rubato::observe {

struct run_begun {
    std::int64_t when = 0;  ///< in seconds since 1970; 0: not known
    std::string command{};  ///< of rank 0, its words separated by spaces
};

void to_json(nlohmann::json& j, const run_begun& r);
/// Throws if it makes no sense.
void from_json(const nlohmann::json& j, run_begun& r);

/// On one line: {"run": ...}.
std::string to_line(const run_begun& r);
/// This process, now.
run_begun begin_of_this();

}  // namespace rubato::observe
