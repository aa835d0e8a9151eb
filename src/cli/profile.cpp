// rubato profile: what runs in mode auto have learned, kept for the next ones.
#include "cli/command.hpp"
#include "cli/profile_commands.hpp"
#include "profile/shelf.hpp"

#include <fmt/format.h>

#include <array>
#include <ctime>

namespace rubato::cli {

namespace fs = std::filesystem;

namespace {

std::string formatted(const std::tm& when, const char* how) {
    std::array<char, 64> text{};
    return {text.data(), std::strftime(text.data(), text.size(), how, &when)};
}

}  // namespace

fs::path profile_folder() {
    if (auto folder = profiles::default_folder()) return *folder;
    throw error("there is no place for profiles", "neither XDG_CACHE_HOME nor HOME is an absolute path",
                "set one of them, or name a profile's file");
}

fs::path named_profile(const std::string& name) {
    const fs::path folder = profile_folder();
    fs::path file = profiles::file_of(folder, name);
    std::error_code none;
    if (name.find('/') != std::string::npos || !fs::exists(file, none))
        throw error(fmt::format("there is no profile '{}'", name),
                    fmt::format("none in {} has that name", folder.string()), "'rubato profile list' lists them");
    return file;
}

std::string local_time(std::int64_t seconds) {
    const std::time_t t = seconds;
    std::tm when{};
    return localtime_r(&t, &when) != nullptr ? formatted(when, "%Y-%m-%d %H:%M") : "-";
}

std::string utc_time(std::int64_t seconds) {
    const std::time_t t = seconds;
    std::tm when{};
    return gmtime_r(&t, &when) != nullptr ? formatted(when, "%Y-%m-%dT%H:%M:%SZ") : "-";
}

void add_profile(CLI::App& command, int&) {
    CLI::App* app = command.add_subcommand("profile", "see or remove what earlier runs in mode auto have learned");
    app->require_subcommand(1);
    add_profile_list(*app);
    add_profile_show(*app);
    add_profile_remove(*app);
    app->footer(
        "A profile is of one program with one number of ranks on each of its hosts, and one MPI library. 'rubato exec\n"
        "--mode auto' reads it when the program begins and replaces it when it ends. Without --profile FILE it lies "
        "in\n"
        "$XDG_CACHE_HOME/rubato/profiles or ~/.cache/rubato/profiles.\n"
        "Examples:\n"
        "  rubato profile list\n"
        "  rubato profile show\n"
        "  rubato profile show solver.profile --json\n"
        "  rubato profile remove --all");
}

}  // namespace rubato::cli
