// rubato profile show: what a profile holds.
#include "cli/command.hpp"
#include "cli/experience_text.hpp"
#include "cli/profile_commands.hpp"
#include "core/text.hpp"
#include "profile/experience_json.hpp"
#include "profile/shelf.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace rubato::cli {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

struct profile_show_options {
    std::string which{};
    bool json = false;
};

/// The one that was written last.
fs::path latest_profile() {
    const fs::path folder = profile_folder();
    fs::path latest;
    fs::file_time_type written;
    for (const std::string& name : profiles::names_in(folder)) {
        std::error_code none;
        const fs::path file = profiles::file_of(folder, name);
        const auto when = fs::last_write_time(file, none);
        if (latest.empty() || when > written) {
            latest = file;
            written = when;
        }
    }
    if (latest.empty())
        throw error("there is no profile", fmt::format("none is in {}", folder.string()),
                    "run a program with 'rubato exec --mode auto', or name a file");
    return latest;
}

/// A file, if there is one of that name.
std::string chosen_file(const std::string& which) {
    if (which.empty()) return latest_profile().string();
    std::error_code none;
    if (which.find('/') != std::string::npos || fs::exists(which, none)) return which;
    return named_profile(which).string();
}

std::string models_text(const profiles::networks& m) {
    std::string out;
    if (!m.between.empty()) out += fmt::format("network between hosts: {}\n", m.between);
    if (!m.within.empty()) out += fmt::format("network within a host: {}\n", m.within);
    return out;
}

std::string as_text(const profiles::profile& p, const std::string& file) {
    std::vector<profiled> all;
    for (const auto& [at, m] : p.known) all.push_back({at.where.size, m.what});
    const std::size_t hosts = p.of.hosts.size();
    return fmt::format("{}: {} on {}{}, {}; {}, written {}\n{}\n{}", p.of.program, counted(p.of.ranks, "rank"),
                       counted(hosts, "host"), hosts > 1 ? fmt::format(" ({})", fmt::join(p.of.hosts, ", ")) : "",
                       p.of.library, counted(p.runs, "run"), local_time(p.written), file, models_text(p.models)) +
           (all.empty() ? "\nNothing was learned of an operation yet.\n" : "\n" + experiences_text(all));
}

std::string as_json(const profiles::profile& p, const std::string& file) {
    const auto or_null = [](const std::string& text) { return text.empty() ? ordered_json() : ordered_json(text); };
    ordered_json out{{"file", file},
                     {"program", p.of.program},
                     {"ranks", p.of.ranks},
                     {"hosts", p.of.hosts},
                     {"library", p.of.library},
                     {"runs", p.runs},
                     {"written", utc_time(p.written)},
                     {"model_within", or_null(p.models.within)},
                     {"model_between", or_null(p.models.between)},
                     {"operations", ordered_json::array()}};
    for (const auto& [at, m] : p.known) {
        ordered_json one = ordered_json(nlohmann::json(m.what));
        if (!traits(at.what.what).rooted) one["root"] = ordered_json();
        one["members"] = fmt::format("{:016x}", at.where.members);
        one["ranks"] = at.where.size;
        one["met"] = utc_time(m.met);
        const std::optional<late_rank> late = latest(m.what);
        one["late_rank"] = late ? ordered_json(late->who.value) : ordered_json();
        one["late_by_ns"] = late ? ordered_json(late->by.count()) : ordered_json();
        out["operations"].push_back(std::move(one));
    }
    return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace

void add_profile_show(CLI::App& group) {
    auto o = std::make_shared<profile_show_options>();
    CLI::App* app = group.add_subcommand("show", "show what a profile holds");
    app->add_option("PROFILE", o->which, "a file, or a name that 'rubato profile list' lists (default: the latest)");
    app->add_flag("--json", o->json, "print it as JSON, with times in nanoseconds");
    app->footer(
        "PLAN: what made the calls at last, with the bytes of a segment. NATIVE TAIL, ITS TAIL: from the last arrival "
        "to\n"
        "the last exit, by the MPI library's collective and by the plan. LATE RANK, LATE BY: the rank of the\n"
        "communicator that is expected last, and how long after the first.\n"
        "Examples:\n"
        "  rubato profile show\n"
        "  rubato profile show solver.profile\n"
        "  rubato profile show solver.profile --json");
    app->callback([o] {
        const std::string file = chosen_file(o->which);
        const profiles::profile p = profiles::parse(profiles::text_of(file), file);
        write_out(o->json ? as_json(p, file) : as_text(p, file));
    });
}

}  // namespace rubato::cli
