#include "base/files/json_lines.hpp"
#include "base/files/json_time.hpp"
#include "base/files/output_file.hpp"
#include "dropin/observe/mapped_file.hpp"
#include "dropin/observe/notes.hpp"
#include "dropin/observe/observation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>

namespace rubato::dropin {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr base::json_lines our_lines{
    .head = "observation",
    .not_ours = "it is not a file that an observed program has written",
    .way_out = "observe the program again",
    .instead = "give a file of an observed program",
};

}  // namespace

void to_json(json& j, form f) { j = name_of(f); }
void from_json(const json& j, form& f) {
    const auto found = std::ranges::find_if(form_names, [&](std::string_view name) { return j == json(name); });
    f = found == form_names.end() ? form::blocking : static_cast<form>(found - form_names.begin());
}
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(who_often, rank, share)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(predictability, predictor, error, deviation, last_right)
void to_json(json& j, const brief& b) { j = {b.number, b.last, b.waited.count()}; }
void from_json(const json& j, brief& b) {
    j.at(0).get_to(b.number);
    j.at(1).get_to(b.last);
    b.waited = time_ns(j.at(2).get<std::int64_t>());
}

// Versions before wrote less of these.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(invocation, number, arrivals, exits, outside, at)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(lateness_map, ranks, numbers, counts, columns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(arrivals_seen, invocations, run_time, tail, imbalance, waiting, first,
                                                last, predictable, pattern, map, all, examples)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(communicator, members, count)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(site, module, offset, symbol)
// The members that are in the first line.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(observation, program, library, ranks, hosts, mode, ended, begun,
                                                duration, parts, model, profile, lost, every_call, missing)

void to_json(json& j, const row& r) {
    j = {{"communicator", r.communicator},
         {"site", r.site},
         {"collective", traits(r.what).name},
         {"form", r.how},
         {"root", r.root},
         {"calls", r.calls},
         {"callers", r.callers},
         {"bytes", r.bytes},
         {"time", r.time},
         {"median", r.median}};
    if (r.ended > 0) j.update({{"ended", r.ended}, {"apart", r.apart}, {"waited", r.waited}});
    if (r.seen) j["seen"] = *r.seen;
}

namespace {

row row_from(const json& j) {
    row r;
    r.what = parse_collective(j.at("collective").get<std::string>());
    j.at("communicator").get_to(r.communicator);
    j.at("site").get_to(r.site);
    j.at("form").get_to(r.how);
    j.at("root").get_to(r.root);
    j.at("calls").get_to(r.calls);
    j.at("callers").get_to(r.callers);
    j.at("bytes").get_to(r.bytes);
    j.at("time").get_to(r.time);
    j.at("median").get_to(r.median);
    if (j.contains("ended")) {
        j["ended"].get_to(r.ended);
        j.at("apart").get_to(r.apart);
        j.at("waited").get_to(r.waited);
    }
    if (j.contains("seen")) r.seen = j["seen"].get<arrivals_seen>();
    return r;
}

/// What the rest of the program relies on: every number points to something, every list has an entry per rank.
bool consistent(const observation& o, const row& r) {
    if (r.communicator >= o.communicators.size() || r.site >= o.sites.size()) return false;
    const std::size_t ranks = o.communicators[r.communicator].members.size();
    if (ranks == 0 || r.bytes < 0 || r.root < 0 || r.apart < time_ns{} || r.waited < time_ns{}) return false;
    if (!r.seen) return true;
    const auto is_rank = [&](const brief& b) { return b.last >= -1 && b.last < static_cast<std::int32_t>(ranks); };
    const lateness_map& map = r.seen->map;
    const std::size_t columns = map.columns.size();
    if (map.ranks < 1) return false;
    const std::size_t cells = (ranks - 1) / static_cast<std::size_t>(map.ranks) + 1;
    const auto is_full = [&](const auto& column) { return column.size() == cells; };
    return r.seen->pattern.size() == ranks && std::ranges::all_of(r.seen->all, is_rank) &&
           map.numbers.size() == columns && map.counts.size() == columns && std::ranges::all_of(map.columns, is_full) &&
           std::ranges::all_of(r.seen->examples, [&](const invocation& i) {
               return i.arrivals.size() == ranks && i.exits.size() == ranks &&
                      (i.outside.empty() || i.outside.size() == ranks);
           });
}

void add_what_older_versions_left_out(row& r) {
    if (!r.seen || r.seen->examples.empty()) return;
    if (r.seen->all.empty()) std::ranges::transform(r.seen->examples, std::back_inserter(r.seen->all), in_short);
    if (r.seen->map.columns.empty()) r.seen->map = map_of(r.seen->examples);
}

void take(observation& o, std::string_view kind, const json& fields) {
    if (kind == our_lines.head) fields.get_to(o);
    if (kind == "communicator") o.communicators.push_back(fields.get<communicator>());
    if (kind == "site") o.sites.push_back(fields.get<site>());
    if (kind == "recalled") o.from_profile.push_back(fields.at("what").get<recalled>());
    if (kind == "decision") o.decisions.push_back(fields.at("what").get<decision>());
    if (kind != "row") return;
    o.rows.push_back(row_from(fields));
    if (!consistent(o, o.rows.back())) throw json::other_error::create(501, "a row that contradicts the rest", nullptr);
    add_what_older_versions_left_out(o.rows.back());
}

std::string first_line(const fs::path& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

/// Whether there is a part that was begun after the file was written, and that may be used.
bool parts_are_newer(const fs::path& file) {
    std::error_code none;
    const fs::path folder = parts_named(file);
    if (!fs::is_directory(folder, none) || fs::is_empty(folder, none)) return false;
    if (!fs::is_regular_file(file, none)) return true;
    const auto written = fs::last_write_time(file, none);
    try {
        return std::ranges::any_of(recordings_in(folder), [&](const fs::path& part) {
            std::error_code ignored;
            return fs::last_write_time(part, ignored) > written;
        });
    } catch (const error&) {
        return false;
    }
}

observation from_parts(const fs::path& file) {
    std::error_code none;
    std::vector<std::pair<fs::file_time_type, part>> found;
    std::int32_t running = 0;
    for (const fs::path& each : recordings_in(parts_named(file))) {
        auto p = decode(read_part(each, false));
        if (!p) continue;
        running += is_being_written(each) ? 1 : 0;
        found.emplace_back(fs::last_write_time(each, none), std::move(*p));
    }
    // A run of fewer ranks leaves parts of an earlier one in place; the newest decides.
    std::ranges::stable_sort(found, std::greater{}, [](const auto& f) { return f.first; });
    std::vector<part> parts;
    parts.reserve(found.size());
    for (auto& [when, p] : found) parts.push_back(std::move(p));
    if (parts.empty())
        throw error(fmt::format("'{}' holds nothing that can be read", parts_named(file).string()), our_lines.not_ours,
                    our_lines.way_out);
    observation o = summarise(parts);
    o.ended = false;
    o.running = running;
    if (const std::int64_t now = std::time(nullptr); running > 0 && o.begun.when > 0 && now > o.begun.when)
        o.duration = std::max(o.duration, time_ns(std::chrono::seconds(now - o.begun.when)));
    return o;
}

observation from_file(const fs::path& file) {
    observation o;
    std::size_t announced = 0;
    std::size_t taken = 0;
    our_lines.read(file.string(), [&](std::string_view kind, const json& fields) {
        if (++taken == 1) announced = fields.at("lines").get<std::size_t>();
        take(o, kind, fields);
    });
    if (taken != announced)
        throw error(fmt::format("'{}' is {}", file.string(), taken < announced ? "cut short" : "longer than it was"),
                    fmt::format("it has {} lines of {}", taken, announced),
                    "copy it again, or observe the program again");
    if (o.ranks == 0)
        throw error(fmt::format("'{}' holds no observation", file.string()), our_lines.not_ours, our_lines.way_out);
    return o;
}

}  // namespace

void write(const observation& o, const fs::path& file) {
    const base::output_file out(file.string());
    base::json_line_writer lines(our_lines.head);
    json head = o;
    head["lines"] =
        1 + o.communicators.size() + o.sites.size() + o.rows.size() + o.from_profile.size() + o.decisions.size();
    std::string text = lines.line(our_lines.head, head);
    for (const communicator& c : o.communicators) text += lines.line("communicator", c);
    for (const site& s : o.sites) text += lines.line("site", s);
    for (const row& r : o.rows) text += lines.line("row", r);
    for (const recalled& r : o.from_profile) text += lines.line("recalled", {{"what", r}});
    for (const decision& d : o.decisions) text += lines.line("decision", {{"what", d}});
    out.write(text);
}

bool is_observation(const fs::path& file) {
    return parts_are_newer(file) || first_line(file).starts_with(R"({"kind":"observation",)");
}

observation read(const fs::path& file) { return parts_are_newer(file) ? from_parts(file) : from_file(file); }

}  // namespace rubato::dropin
