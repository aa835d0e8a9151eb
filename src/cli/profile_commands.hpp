// The subcommands of `rubato profile`, a file each, and what they share.
#pragma once

#include "profile/profile.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <string>

namespace rubato::cli {

void add_profile_list(CLI::App& group);
void add_profile_show(CLI::App& group);
void add_profile_remove(CLI::App& group);

/// Where profiles lie. Throws if there is no home.
std::filesystem::path profile_folder();
/// Throws if there is none of that name.
std::filesystem::path named_profile(const std::string& name);

/// "2026-11-17 09:30", in local time.
std::string local_time(std::int64_t seconds);
/// "2026-11-17T08:30:00Z"
std::string utc_time(std::int64_t seconds);

}  // namespace rubato::cli
