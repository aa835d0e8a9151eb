#include "dropin/preload/settings.hpp"

#include "engine/execute/background_thread.hpp"

#include "base/files/output_file.hpp"
#include "base/files/own_folder.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include <sys/stat.h>
#include <unistd.h>

namespace rubato::dropin {
namespace {

[[noreturn]] void refuse(std::string_view name, std::string_view value, std::string_view reason,
                         std::string_view way_out) {
    throw error(fmt::format("{}={}", name, value), reason, way_out);
}

double parse_share(std::string_view name, std::string_view text, double below, std::string_view of) {
    double percent = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, percent);
    if (failure != std::errc{} || std::string_view(stop, end) != "%" || !(percent >= 0 && percent < below))
        refuse(name, text, fmt::format("it is a share of {}, below {}%", of, below), "give a percentage such as 5%");
    return percent / 100;
}

std::vector<std::string_view> split(std::string_view list) {
    std::vector<std::string_view> all;
    for (;;) {
        const std::size_t comma = list.find(',');
        all.push_back(list.substr(0, comma));
        if (comma == std::string_view::npos) return all;
        list.remove_prefix(comma + 1);
    }
}

void parse_leave(std::string_view, std::string_view text, settings& how) {
    how.leave.clear();
    if (text == "none") return;
    for (const std::string_view one : split(text)) how.leave.push_back(parse_collective(one));
}

void check_name(std::string_view name, std::string_view text, std::string_view way_out) {
    if (text.empty() || text.ends_with('/') || text == "-") refuse(name, text, "a file needs a name", way_out);
}

void parse_watchdog(std::string_view name, std::string_view text, settings& all) {
    using namespace std::chrono_literals;
    watchdog_settings& how = all.watchdog;
    if (text == "off") return;
    constexpr std::string_view end = ",end";
    std::string_view time = text;
    how.ends = time.ends_with(end);
    if (how.ends) time.remove_suffix(end.size());
    try {
        how.limit = parse_time(time);
    } catch (const error&) {
        refuse(name, text, "it is a time, after which ',end' may stand", "give one such as 60s or 60s,end, or off");
    }
    if (how.limit < 100ms) refuse(name, text, "calls often take that long", "give 100ms or more, or off");
}

std::optional<std::size_t> parse_record(std::string_view name, std::string_view text) {
    constexpr std::string_view all = "all";
    constexpr std::string_view limit = ",limit=";
    constexpr std::int64_t least = std::int64_t{1} << 20;
    constexpr std::int64_t most = std::int64_t{1} << 40;
    if (text == "some") return std::nullopt;
    std::string_view rest = text;
    if (!rest.starts_with(all)) refuse(name, text, "there is no such choice", "give some, all, or all,limit=1GiB");
    rest.remove_prefix(all.size());
    if (rest.empty()) return std::size_t{256} << 20;
    if (!rest.starts_with(limit)) refuse(name, text, "after 'all' only a limit may stand", "give all,limit=1GiB");
    std::int64_t bytes = 0;
    try {
        bytes = parse_bytes(rest.substr(limit.size()));
    } catch (const error&) {
        refuse(name, text, "its limit is no size", "give one such as 1GiB");
    }
    if (bytes < least || bytes > most) refuse(name, text, "its limit is from 1MiB to 1TiB", "give one such as 1GiB");
    return static_cast<std::size_t>(bytes);
}

std::vector<const algorithm*> parse_forced(std::string_view name, std::string_view text, std::string_view list) {
    std::vector<const algorithm*> all;
    for (const std::string_view id : split(list)) {
        const algorithm& a = find_algorithm(id);
        const auto same = std::ranges::find(all, a.what, &algorithm::what);
        if (same != all.end())
            refuse(name, text, fmt::format("{} and {} are for the same collective", (*same)->id, a.id),
                   "force one algorithm of each collective");
        all.push_back(&a);
    }
    return all;
}

void parse_mode(std::string_view name, std::string_view text, settings& how) {
    constexpr std::string_view force = "force=";
    constexpr std::string_view rules = "rules=";
    if (text == "observe") {
        how.mode = mode::observe;
    } else if (text == "auto") {
        how.mode = mode::automatic;
    } else if (text.starts_with(force)) {
        how.mode = mode::force;
        how.force = parse_forced(name, text, text.substr(force.size()));
    } else if (text.starts_with(rules)) {
        how.mode = mode::rules;
        how.rules = text.substr(rules.size());
        if (how.rules.empty()) refuse(name, text, "a file needs a name", "give a file of 'rubato tune'");
    } else {
        refuse(name, text, "there is no such mode",
               "give observe, auto, force=ID,... with some of 'rubato algorithms', or rules=FILE");
    }
}

void parse_background(std::string_view name, std::string_view text, settings& how) {
    (void)engine::background::read_setting(how.background, name, text);
}

constexpr std::array rows{
    setting_row{
        "RUBATO_MODE", "--mode", "observe", "auto",
        "observe: only look; auto: replace calls where that pays; force=ID,...: these algorithms, one of each "
        "collective at most, wherever they can be used; rules=FILE: the algorithms that a file of 'rubato tune' "
        "names",
        parse_mode},
    setting_row{"RUBATO_OUTPUT", "--output", "rubato-PROGRAM-PID.rubato", "run.rubato", "the file that is written",
                [](std::string_view name, std::string_view text, settings& how) {
                    check_name(name, text, "give one, or nothing at all");
                    how.output = text;
                }},
    setting_row{"RUBATO_WATCHDOG", "--watchdog", "off", "60s,end",
                "when a collective waits for longer, say on standard error who has not come; with ',end', also end the "
                "program",
                parse_watchdog},
    setting_row{
        "RUBATO_RECORD", "--record", "some", "all,limit=1GiB",
        "some: sums of all calls, and the times of some; all: every call, for 'rubato export', in FILE.calls, "
        "with at most so many bytes of each rank (256MiB unless a limit is given)",
        [](std::string_view name, std::string_view text, settings& how) { how.every_call = parse_record(name, text); }},
    setting_row{"RUBATO_MARGIN", "--margin", "10%", "5%",
                "auto: by how much a plan must promise to be better than the native call",
                [](std::string_view name, std::string_view text, settings& how) {
                    how.careful.margin = parse_share(name, text, 100, "the time of the native call");
                }},
    setting_row{"RUBATO_SPEND", "--spend", "1%", "5%",
                "auto: share of the run time that may be spent on finding out what is faster",
                [](std::string_view name, std::string_view text, settings& how) {
                    how.careful.spend = parse_share(name, text, 1e6, "the run time");
                }},
    setting_row{"RUBATO_MODEL", "--model", "measured", "file:my.model", "the network, as 'rubato sim --model' has it",
                [](std::string_view, std::string_view text, settings& how) {
                    if (text != "measured") how.model = to_string(parse_model(text));
                }},
    setting_row{"RUBATO_PROFILE", "--profile", "a file in ~/.cache/rubato/profiles", "solver.profile",
                "auto: the file with what earlier runs have learned, which the run reads and replaces; off: none",
                [](std::string_view name, std::string_view text, settings& how) {
                    check_name(name, text, "give one, or off, or nothing at all");
                    how.remembers = text != "off";
                    if (how.remembers) how.profile = text;
                }},
    setting_row{"RUBATO_LEAVE", "--leave", "none", "bcast,alltoall", "auto and force: collectives that are left alone",
                parse_leave},
    setting_row{
        "RUBATO_REPRODUCIBLE", "--reproducible", "0", "1",
        "1: reductions of floating-point numbers, and by the program's own operators, are left to the MPI library",
        [](std::string_view name, std::string_view text, settings& how) {
            if (text != "1" && text != "0") refuse(name, text, "it is switched by 0 or 1", "give one of these");
            how.reproducible = text == "1";
        }},
    setting_row{"RUBATO_BACKGROUND", "--background", "auto", "on",
                "auto and force: a thread works for ranks that are late, if MPI has MPI_THREAD_MULTIPLE. auto: in mode "
                "auto the drop-in asks for it where ranks are on several hosts; on: everywhere; off: no thread",
                parse_background},
    setting_row{"RUBATO_BACKGROUND_CORE", "--background-core", "none", "1", "the core on which that thread stays",
                parse_background},
    setting_row{"RUBATO_BACKGROUND_NICE", "--background-nice", "none", "10",
                "how far that thread lets others go first: -20 to 19, as nice(1) has it; none: as the program",
                parse_background},
    setting_row{"RUBATO_BACKGROUND_INTERVAL", "--background-interval", "100us", "1ms",
                "how often that thread looks while messages come", parse_background},
};

struct launcher {
    const char* ranks;
    const char* on_this_host;
};
constexpr std::array launchers{
    launcher{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},  // Open MPI's mpirun
    launcher{"PMI_SIZE", "MPI_LOCALNRANKS"},                         // hydra, of MPICH
};

std::optional<int> number(std::string_view text) {
    int n = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (text.empty() || failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return n;
}

}  // namespace

std::span<const setting_row> setting_rows() { return rows; }

variables variables_of_environment() {
    variables found;
    for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
        const std::string_view text = *each;
        const std::size_t equals = text.find('=');
        if (text.starts_with("RUBATO_") && equals != std::string_view::npos)
            found.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return found;
}

settings parse_settings(const variables& said) {
    settings how;
    for (const auto& [name, text] : said)
        if (const auto row = std::ranges::find(rows, name, &setting_row::variable); row != rows.end())
            row->read(name, text, how);
    return how;
}

void check_output(const std::string& file, bool every_call) {
    if (!base::find_destination(file).plain)
        refuse("RUBATO_OUTPUT", file, "it is a device or a pipe, and the report reads a file", "name a file");
    (void)base::output_file(file);
    (void)base::own_folder::find(file + ".parts");
    if (every_call) (void)base::own_folder::find(file + ".calls");
}

void check_profile(const std::string& file) {
    struct stat there {};
    if (stat(file.c_str(), &there) == 0 && S_ISREG(there.st_mode) &&
        !base::is_us(there.st_uid, std::filesystem::path(file).parent_path()))
        return;  // the run says so, and does without
    if (!base::find_destination(file).plain)
        refuse("RUBATO_PROFILE", file, "it is a device or a pipe, and the next run reads a file",
               "name a file, or off");
    (void)base::output_file(file);
}

bool is_between_hosts(const environment& value_of) {
    for (const launcher& l : launchers) {
        const auto ranks = number(value_of(l.ranks));
        const auto here = number(value_of(l.on_this_host));
        if (ranks && here) return *ranks > *here;
    }
    // srun: after the others, as mpirun may have been started by it.
    return number(value_of("SLURM_STEP_NUM_NODES")).value_or(1) > 1;
}

bool raises_thread_level(const environment& value_of) {
    const std::string_view mode = value_of("RUBATO_MODE");
    const std::string_view background = value_of("RUBATO_BACKGROUND");
    if (background == "on") return !mode.empty() && mode != "observe";
    return (background.empty() || background == "auto") && mode == "auto" && is_between_hosts(value_of);
}

}  // namespace rubato::dropin
