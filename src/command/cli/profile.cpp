// rubato profile: what runs in mode auto have learned, kept for the next ones.
#include "dropin/profile/profile.hpp"
#include "base/core/text.hpp"
#include "base/files/json.hpp"
#include "command/cli/columns.hpp"
#include "command/cli/report_text.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <ctime>
#include <filesystem>
#include <memory>

namespace rubato::command {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::string formatted(std::int64_t seconds, std::tm* (*parts)(const std::time_t*, std::tm*), const char* how) {
    const std::time_t t = seconds;
    std::tm when{};
    if (parts(&t, &when) == nullptr) return "-";
    std::array<char, 64> text{};
    return {text.data(), std::strftime(text.data(), text.size(), how, &when)};
}

std::string local_time(std::int64_t seconds) { return formatted(seconds, localtime_r, "%Y-%m-%d %H:%M"); }

std::string utc_time(std::int64_t seconds) { return formatted(seconds, gmtime_r, "%Y-%m-%dT%H:%M:%SZ"); }

fs::path profile_folder() {
    if (auto folder = dropin::default_folder()) return *folder;
    throw error("there is no place for profiles", "neither XDG_CACHE_HOME nor HOME is an absolute path",
                "set one of them, or name a profile's file");
}

fs::path named_profile(const std::string& name) {
    const fs::path folder = profile_folder();
    fs::path file = dropin::file_of(folder, name);
    std::error_code none;
    if (name.find('/') != std::string::npos || !fs::exists(file, none))
        throw error(fmt::format("there is no profile '{}'", name),
                    fmt::format("none in {} has that name", folder.string()), "'rubato profile list' lists them");
    return file;
}

struct listed {
    std::string name{};
    std::string file{};
    dropin::profile what{};
    std::string wrong{};  ///< why it cannot be read
};

/// "1", "2 (3, 1)"
std::string hosts_text(const dropin::key& k) {
    if (k.hosts.size() < 2) return fmt::format("{}", k.hosts.size());
    return fmt::format("{} ({})", k.hosts.size(), fmt::join(k.hosts, ", "));
}

std::vector<listed> all_profiles() {
    const std::filesystem::path folder = profile_folder();
    std::vector<listed> all;
    for (const std::string& name : dropin::names_in(folder)) {
        listed one{name, dropin::file_of(folder, name).string()};
        try {
            one.what = dropin::parse(dropin::text_of(one.file), one.file);
        } catch (const error& e) {
            one.wrong = e.what();
        }
        all.push_back(std::move(one));
    }
    return all;
}

columns<listed> profile_columns() {
    return {
        {"NAME", "name", &listed::name},
        {"", "file", &listed::file},
        {"PROGRAM", "program", [](const listed& l) { return l.what.of.program; }},
        {">RANKS", "ranks", [](const listed& l) { return l.what.of.ranks; }},
        {">HOSTS", "hosts", [](const listed& l) { return cell(hosts_text(l.what.of), l.what.of.hosts); }},
        {"LIBRARY", "library",
         [](const listed& l) {
             const std::string& library = l.what.of.library;
             return cell(library.substr(0, library.find(',')), library);
         }},
        {">OPERATIONS", "operations", [](const listed& l) { return l.what.known.size(); }},
        {">RUNS", "runs", [](const listed& l) { return l.what.runs; }},
        {"WRITTEN", "written",
         [](const listed& l) { return cell(local_time(l.what.written), utc_time(l.what.written)); }},
    };
}

std::string as_text(const std::vector<listed>& all) {
    if (all.empty())
        return fmt::format("No profile is in {}. 'rubato exec --mode auto' writes them.\n", profile_folder().string());
    std::vector<listed> good;
    std::string wrong;
    for (const listed& one : all)
        if (one.wrong.empty())
            good.push_back(one);
        else
            wrong += one.wrong + '\n';
    const std::string text = good.empty() ? "" : as_table(profile_columns(), good);
    return text + (text.empty() || wrong.empty() ? "" : "\n") + wrong;
}

std::string as_json(const std::vector<listed>& all) {
    base::json out = base::json::array();
    for (const listed& one : all)
        out.push_back(one.wrong.empty() ? as_object(profile_columns(), one)
                                        : base::json{{"name", one.name}, {"file", one.file}, {"error", one.wrong}});
    return pretty(out);
}

void add_profile_list(CLI::App& group) {
    auto as_object = std::make_shared<bool>(false);
    CLI::App* const app = add_subcommand(group, "list", "list the profiles in the user's cache");
    add_flag(*app, "--json", *as_object, "print them as JSON");
    add_footer(*app,
               "\n"
               "Examples:\n  rubato profile list\n  rubato profile list --json");
    when_called(*app, [as_object] { write_out(*as_object ? as_json(all_profiles()) : as_text(all_profiles())); });
}

struct profile_remove_options {
    std::vector<std::string> names{};
    bool all = false;
    bool json = false;
};

void remove(const profile_remove_options& o) {
    if (o.names.empty() != o.all)
        throw error(o.all ? "--all with names" : "nothing to remove", "it removes profiles by name, or all of them",
                    "give names that 'rubato profile list' lists, or --all");
    const std::vector<std::string> names = o.all ? dropin::names_in(profile_folder()) : o.names;
    std::vector<fs::path> files;
    files.reserve(names.size());
    for (const std::string& name : names)
        files.push_back(o.all ? dropin::file_of(profile_folder(), name) : named_profile(name));
    for (const fs::path& file : files) {
        std::error_code failed;
        fs::remove(file, failed);
        if (failed)
            throw error(fmt::format("cannot remove '{}'", file.string()), failed.message(), "remove it yourself");
    }
    if (o.json) return write_out(base::json{{"removed", names}}.dump(2) + '\n');
    for (const std::string& name : names) write_out(fmt::format("removed {}\n", name));
    if (names.empty()) write_out("There was no profile.\n");
}

void add_profile_remove(CLI::App& group) {
    auto o = std::make_shared<profile_remove_options>();
    CLI::App* const app = add_subcommand(group, "remove", "remove profiles from the user's cache");
    add_value(*app, "NAMES", o->names, "", "names that 'rubato profile list' lists");
    add_flag(*app, "--all", o->all, "remove all of them");
    add_flag(*app, "--json", o->json, "print what was removed as JSON");
    add_footer(*app,
               "\n"
               "Examples:\n  rubato profile remove solver-16-0123456789abcdef\n  rubato profile remove --all");
    when_called(*app, [o] { remove(*o); });
}

struct profile_show_options {
    std::string which{};
    bool json = false;
};

/// The one that was written last.
fs::path latest_profile() {
    const fs::path folder = profile_folder();
    fs::path latest;
    fs::file_time_type written;
    for (const std::string& name : dropin::names_in(folder)) {
        std::error_code none;
        const fs::path file = dropin::file_of(folder, name);
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

std::string models_text(const dropin::networks& m) {
    std::string out;
    if (!m.between.empty()) out += fmt::format("network between hosts: {}\n", m.between);
    if (!m.within.empty()) out += fmt::format("network within a host: {}\n", m.within);
    return out;
}

std::string as_text(const dropin::profile& p, const std::string& file) {
    std::vector<profiled> all;
    for (const auto& [at, m] : p.known) all.push_back({at.where.size, m.what});
    const std::size_t hosts = p.of.hosts.size();
    return fmt::format("{}: {} on {}{}, {}; {}, written {}\n{}\n{}", p.of.program, base::counted(p.of.ranks, "rank"),
                       base::counted(hosts, "host"), hosts > 1 ? fmt::format(" ({})", fmt::join(p.of.hosts, ", ")) : "",
                       p.of.library, base::counted(p.runs, "run"), local_time(p.written), file, models_text(p.models)) +
           (all.empty() ? "\nNothing was learned of an operation yet.\n" : "\n" + experiences_text(all));
}

std::string as_json(const dropin::profile& p, const std::string& file) {
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
        const std::optional<dropin::late_rank> late = dropin::latest(m.what);
        one["late_rank"] = late ? ordered_json(late->who.value) : ordered_json();
        one["late_by_ns"] = late ? ordered_json(late->by.count()) : ordered_json();
        out["operations"].push_back(std::move(one));
    }
    return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

void add_profile_show(CLI::App& group) {
    auto o = std::make_shared<profile_show_options>();
    CLI::App* const app = add_subcommand(group, "show", "show what a profile holds");
    add_value(*app, "PROFILE", o->which, "",
              "a file, or a name that 'rubato profile list' lists (default: the latest)");
    add_flag(*app, "--json", o->json, "print it as JSON, with times in nanoseconds");
    add_footer(*app, R"(
PLAN: what made the calls at last, with the bytes of a segment. NATIVE TAIL, ITS TAIL: from the last arrival to
the last exit, by the MPI library's collective and by the plan. LATE RANK, LATE BY: the rank of the
communicator that is expected last, and how long after the first.
Examples:
  rubato profile show
  rubato profile show solver.profile
  rubato profile show solver.profile --json)");
    when_called(*app, [o] {
        const std::string file = chosen_file(o->which);
        const dropin::profile p = dropin::parse(dropin::text_of(file), file);
        write_out(o->json ? as_json(p, file) : as_text(p, file));
    });
}

}  // namespace

void add_profile(CLI::App* app, int&) {
    require_subcommand(*app);
    add_profile_list(*app);
    add_profile_show(*app);
    add_profile_remove(*app);
    add_footer(*app, R"(
A profile is of one program with one number of ranks on each of its hosts, and one MPI library. 'rubato exec
--mode auto' reads it when the program begins and replaces it when it ends. Without --profile FILE it lies in
$XDG_CACHE_HOME/rubato/profiles or ~/.cache/rubato/profiles.
Examples:
  rubato profile list
  rubato profile show
  rubato profile show solver.profile --json
  rubato profile remove --all)");
}

}  // namespace rubato::command
