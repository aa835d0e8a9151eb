#include "preload/settings.hpp"

#include "engine/background_thread.hpp"

#include "files/output_file.hpp"
#include "files/own_folder.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/model.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include <sys/stat.h>
#include <unistd.h>

namespace rubato::preload {
namespace {

constexpr std::array rows{
    setting_row{"RUBATO_MODE", "--mode", "observe", "auto",
                "observe: only look; auto: replace calls where that pays; force=ID: this algorithm wherever it can be "
                "used; rules=FILE: the algorithms that a file of 'rubato tune' names"},
    setting_row{"RUBATO_OUTPUT", "--output", "rubato-PROGRAM-PID.rubato", "run.rubato", "the file that is written"},
    setting_row{"RUBATO_WATCHDOG", "--watchdog", "off", "60s,end",
                "when a collective waits for longer, say on standard error who has not come; with ',end', also end the "
                "program"},
    setting_row{"RUBATO_RECORD", "--record", "some", "all,limit=1GiB",
                "some: sums of all calls, and the times of some; all: every call, for 'rubato export', in FILE.calls, "
                "with at most so many bytes of each rank (256MiB unless a limit is given)"},
    setting_row{"RUBATO_MARGIN", "--margin", "10%", "5%",
                "auto: by how much a plan must promise to be better than the native call"},
    setting_row{"RUBATO_SPEND", "--spend", "1%", "5%",
                "auto: share of the run time that may be spent on finding out what is faster"},
    setting_row{"RUBATO_MODEL", "--model", "measured", "file:my.model", "the network, as 'rubato sim --model' has it"},
    setting_row{"RUBATO_PROFILE", "--profile", "a file in ~/.cache/rubato/profiles", "solver.profile",
                "auto: the file with what earlier runs have learned, which the run reads and replaces; off: none"},
    setting_row{"RUBATO_LEAVE", "--leave", "none", "bcast,alltoall", "auto and force: collectives that are left alone"},
    setting_row{
        "RUBATO_REPRODUCIBLE", "--reproducible", "0", "1",
        "1: reductions of floating-point numbers, and by the program's own operators, are left to the MPI library"},
    setting_row{"RUBATO_BACKGROUND", "--background", "auto", "on",
                "auto and force: a thread works for ranks that are late, if MPI has MPI_THREAD_MULTIPLE. auto: in mode "
                "auto the drop-in asks for it where ranks are on several hosts; on: everywhere; off: no thread"},
    setting_row{"RUBATO_BACKGROUND_CORE", "--background-core", "none", "1", "the core on which that thread stays"},
    setting_row{"RUBATO_BACKGROUND_NICE", "--background-nice", "none", "10",
                "how far that thread lets others go first: -20 to 19, as nice(1) has it; none: as the program"},
    setting_row{"RUBATO_BACKGROUND_INTERVAL", "--background-interval", "100us", "1ms",
                "how often that thread looks while messages come"},
};

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

bool parse_switch(std::string_view name, std::string_view text, std::string_view off, std::string_view on) {
    if (text != on && text != off)
        refuse(name, text, fmt::format("it is switched by {} or {}", off, on), "give one of these");
    return text == on;
}

std::vector<collective> parse_collectives(std::string_view text) {
    std::vector<collective> list;
    if (text == "none") return list;
    for (;;) {
        const std::size_t comma = text.find(',');
        list.push_back(parse_collective(text.substr(0, comma)));
        if (comma == std::string_view::npos) return list;
        text.remove_prefix(comma + 1);
    }
}

void parse_watchdog(std::string_view name, std::string_view text, watchdog_settings& how) {
    using namespace std::chrono_literals;
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

void parse_mode(std::string_view name, std::string_view text, settings& how) {
    constexpr std::string_view force = "force=";
    constexpr std::string_view rules = "rules=";
    if (text == "observe") {
        how.mode = mode::observe;
    } else if (text == "auto") {
        how.mode = mode::automatic;
    } else if (text.starts_with(force)) {
        how.mode = mode::force;
        how.force = find_algorithm(text.substr(force.size())).id;
    } else if (text.starts_with(rules)) {
        how.mode = mode::rules;
        how.rules = text.substr(rules.size());
        if (how.rules.empty()) refuse(name, text, "a file needs a name", "give a file of 'rubato tune'");
    } else {
        refuse(name, text, "there is no such mode",
               "give observe, auto, force=ID with one of 'rubato algorithms', or rules=FILE");
    }
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
    for (const auto& [name, text] : said) {
        if (name == "RUBATO_MODE") {
            parse_mode(name, text, how);
        } else if (name == "RUBATO_OUTPUT") {
            if (text.empty() || text.ends_with('/') || text == "-")
                refuse(name, text, "a file needs a name", "give one, or nothing at all");
            how.output = text;
        } else if (name == "RUBATO_PROFILE") {
            if (text.empty() || text.ends_with('/') || text == "-")
                refuse(name, text, "a file needs a name", "give one, or off, or nothing at all");
            how.remembers = text != "off";
            if (how.remembers) how.profile = text;
        } else if (name == "RUBATO_WATCHDOG") {
            parse_watchdog(name, text, how.watchdog);
        } else if (name == "RUBATO_RECORD") {
            how.every_call = parse_record(name, text);
        } else if (name == "RUBATO_MARGIN") {
            how.margin = parse_share(name, text, 100, "the time of the native call");
        } else if (name == "RUBATO_SPEND") {
            how.spend = parse_share(name, text, 1e6, "the run time");
        } else if (name == "RUBATO_MODEL") {
            if (text != "measured") how.model = to_string(parse_model(text));
        } else if (name == "RUBATO_LEAVE") {
            how.leave = parse_collectives(text);
        } else if (name == "RUBATO_REPRODUCIBLE") {
            how.reproducible = parse_switch(name, text, "0", "1");
        } else {
            background::read_setting(how.background, name, text);
        }
    }
    return how;
}

void check_output(const std::string& file, bool every_call) {
    if (!files::find_destination(file).plain)
        refuse("RUBATO_OUTPUT", file, "it is a device or a pipe, and the report reads a file", "name a file");
    (void)files::output_file(file);
    (void)files::own_folder::find(file + ".parts");
    if (every_call) (void)files::own_folder::find(file + ".calls");
}

void check_profile(const std::string& file) {
    struct stat there {};
    if (stat(file.c_str(), &there) == 0 && S_ISREG(there.st_mode) &&
        !files::is_us(there.st_uid, std::filesystem::path(file).parent_path()))
        return;  // the run says so, and does without
    if (!files::find_destination(file).plain)
        refuse("RUBATO_PROFILE", file, "it is a device or a pipe, and the next run reads a file",
               "name a file, or off");
    (void)files::output_file(file);
}

}  // namespace rubato::preload
