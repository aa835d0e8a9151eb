// rubato profile list: the profiles that lie in the user's cache.
#include "cli/command.hpp"
#include "cli/profile_commands.hpp"
#include "profile/shelf.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace rubato::cli {
namespace {

using nlohmann::ordered_json;

struct listed {
    std::string name{};
    std::string file{};
    profiles::profile what{};
    std::string wrong{};  ///< why it cannot be read
};

/// "1", "2 (3, 1)"
std::string hosts_text(const profiles::key& k) {
    if (k.hosts.size() < 2) return fmt::format("{}", k.hosts.size());
    return fmt::format("{} ({})", k.hosts.size(), fmt::join(k.hosts, ", "));
}

std::vector<listed> all_profiles() {
    const std::filesystem::path folder = profile_folder();
    std::vector<listed> all;
    for (const std::string& name : profiles::names_in(folder)) {
        listed one{name, profiles::file_of(folder, name).string()};
        try {
            one.what = profiles::parse(profiles::text_of(one.file), one.file);
        } catch (const error& e) {
            one.wrong = e.what();
        }
        all.push_back(std::move(one));
    }
    return all;
}

std::string as_text(const std::vector<listed>& all) {
    if (all.empty())
        return fmt::format("No profile is in {}. 'rubato exec --mode auto' writes them.\n", profile_folder().string());
    std::vector<std::vector<std::string>> lines{
        {"NAME", "PROGRAM", "RANKS", "HOSTS", "LIBRARY", "OPERATIONS", "RUNS", "WRITTEN"}};
    std::string wrong;
    for (const listed& one : all) {
        if (!one.wrong.empty()) {
            wrong += fmt::format("{}\n", one.wrong);
            continue;
        }
        const profiles::profile& p = one.what;
        lines.push_back({one.name, p.of.program, fmt::format("{}", p.of.ranks), hosts_text(p.of),
                         p.of.library.substr(0, p.of.library.find(',')), fmt::format("{}", p.known.size()),
                         fmt::format("{}", p.runs), local_time(p.written)});
    }
    const std::string text = lines.size() > 1 ? align(lines, {false, false, true, true, false, true, true, false}) : "";
    return text + (text.empty() || wrong.empty() ? "" : "\n") + wrong;
}

std::string as_json(const std::vector<listed>& all) {
    ordered_json out = ordered_json::array();
    for (const listed& one : all) {
        if (!one.wrong.empty()) {
            out.push_back({{"name", one.name}, {"file", one.file}, {"error", one.wrong}});
            continue;
        }
        const profiles::profile& p = one.what;
        out.push_back({{"name", one.name},
                       {"file", one.file},
                       {"program", p.of.program},
                       {"ranks", p.of.ranks},
                       {"hosts", p.of.hosts},
                       {"library", p.of.library},
                       {"operations", p.known.size()},
                       {"runs", p.runs},
                       {"written", utc_time(p.written)}});
    }
    return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace

void add_profile_list(CLI::App& group) {
    auto as_object = std::make_shared<bool>(false);
    CLI::App* app = group.add_subcommand("list", "list the profiles in the user's cache");
    app->add_flag("--json", *as_object, "print them as JSON");
    app->footer("Examples:\n  rubato profile list\n  rubato profile list --json");
    app->callback([as_object] { write_out(*as_object ? as_json(all_profiles()) : as_text(all_profiles())); });
}

}  // namespace rubato::cli
