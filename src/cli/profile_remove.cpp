// rubato profile remove: runs begin anew.
#include "cli/command.hpp"
#include "cli/profile_commands.hpp"
#include "profile/shelf.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace rubato::cli {
namespace {

namespace fs = std::filesystem;

struct profile_remove_options {
    std::vector<std::string> names{};
    bool all = false;
    bool json = false;
};

void remove(const profile_remove_options& o) {
    if (o.names.empty() != o.all)
        throw error(o.all ? "--all with names" : "nothing to remove", "it removes profiles by name, or all of them",
                    "give names that 'rubato profile list' lists, or --all");
    const std::vector<std::string> names = o.all ? profiles::names_in(profile_folder()) : o.names;
    std::vector<fs::path> files;
    files.reserve(names.size());
    for (const std::string& name : names)
        files.push_back(o.all ? profiles::file_of(profile_folder(), name) : named_profile(name));
    for (const fs::path& file : files) {
        std::error_code failed;
        fs::remove(file, failed);
        if (failed)
            throw error(fmt::format("cannot remove '{}'", file.string()), failed.message(), "remove it yourself");
    }
    if (o.json) return write_out(nlohmann::json{{"removed", names}}.dump(2) + '\n');
    for (const std::string& name : names) write_out(fmt::format("removed {}\n", name));
    if (names.empty()) write_out("There was no profile.\n");
}

}  // namespace

void add_profile_remove(CLI::App& group) {
    auto o = std::make_shared<profile_remove_options>();
    CLI::App* app = group.add_subcommand("remove", "remove profiles from the user's cache");
    app->add_option("NAMES", o->names, "names that 'rubato profile list' lists");
    app->add_flag("--all", o->all, "remove all of them");
    app->add_flag("--json", o->json, "print what was removed as JSON");
    app->footer("Examples:\n  rubato profile remove solver-16-0123456789abcdef\n  rubato profile remove --all");
    app->callback([o] { remove(*o); });
}

}  // namespace rubato::cli
