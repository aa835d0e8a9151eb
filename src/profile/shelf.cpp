#include "profile/shelf.hpp"

#include "core/checksum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace rubato::profiles {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view extension = ".profile";

/// A relative one is to be ignored, as the XDG specification has it.
std::optional<fs::path> absolute_in(const char* variable) {
    const char* const text = std::getenv(variable);
    if (text == nullptr || *text != '/') return std::nullopt;
    return fs::path(text);
}

}  // namespace

std::optional<fs::path> default_folder() {
    const fs::path ours = fs::path("rubato") / "profiles";
    if (const auto cache = absolute_in("XDG_CACHE_HOME")) return *cache / ours;
    if (const auto home = absolute_in("HOME")) return *home / ".cache" / ours;
    return std::nullopt;
}

std::string name_of(const key& k) {
    constexpr std::size_t longest = 100;
    std::string program = k.program.substr(0, longest);
    for (char& c : program)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-' && c != '.') c = '_';
    if (program.empty() || program.front() == '.' || program.front() == '-') program.insert(0, "_");
    const std::string all = fmt::format("{}\n{}\n{}\n{}", k.program, k.ranks, fmt::join(k.hosts, ","), k.library);
    return fmt::format("{}-{}-{:016x}", program, k.ranks, checksum(all));
}

fs::path file_of(const fs::path& folder, const std::string& name) { return folder / (name + std::string(extension)); }

std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code none;
    for (const fs::directory_entry& e : fs::directory_iterator(folder, none))
        if (e.path().extension() == extension && e.is_regular_file(none)) names.push_back(e.path().stem().string());
    std::ranges::sort(names);
    return names;
}

}  // namespace rubato::profiles
