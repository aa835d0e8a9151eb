// Where profiles lie that nobody has given a place.
#pragma once

#include "profile/profile.hpp"

#include <filesystem>
#include <optional>

namespace rubato::profiles {

/// $XDG_CACHE_HOME/rubato/profiles, or ~/.cache/rubato/profiles. Nothing where there is no home.
std::optional<std::filesystem::path> default_folder();
/// "solver-16-0123456789abcdef", from the program, its ranks and a hash of all of the key.
std::string name_of(const key& k);
/// The file of a name.
std::filesystem::path file_of(const std::filesystem::path& folder, const std::string& name);

/// The names of the profiles in a folder, sorted; none if there is no such folder.
std::vector<std::string> names_in(const std::filesystem::path& folder);

}  // namespace rubato::profiles
