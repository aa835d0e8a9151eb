#include "dropin/observe/notes.hpp"

#include "base/files/json_time.hpp"
#include "dropin/profile/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <iterator>

namespace rubato::dropin {

using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 5> verdicts{"left", "tried", "kept", "withdrawn", "forced"};

decision::verdict parse_verdict(const std::string& name) {
    const auto found = std::ranges::find(verdicts, name);
    if (found == verdicts.end())
        throw error(fmt::format("no decision '{}'", name), fmt::format("there are {}", fmt::join(verdicts, ", ")),
                    "use the version of rubato that wrote it");
    return static_cast<decision::verdict>(found - verdicts.begin());
}

std::string tail_of(std::string_view who) { return fmt::format("{}_tail_ns", who); }
std::string period_of(std::string_view who) { return fmt::format("{}_period_ns", who); }

void put_times(json& j, std::string_view who, const std::optional<decision::times>& t) {
    if (t) j.update({{tail_of(who), t->tail}, {period_of(who), t->period}});
}

std::optional<decision::times> times_in(const json& j, std::string_view who) {
    if (!j.contains(tail_of(who))) return std::nullopt;
    return decision::times{j.at(tail_of(who)).get<time_ns>(), j.value(period_of(who), time_ns{})};
}

}  // namespace

std::string_view name_of(decision::verdict v) { return verdicts[static_cast<std::size_t>(v)]; }

void to_json(json& j, const decision& d) {
    j = {{"decision", name_of(d.made)},
         {"operation", traits(d.what).name},
         {"bytes", d.bytes},
         {"ranks", d.ranks},
         {"call", d.call},
         {"algorithm", d.algorithm},
         {"reason", d.reason}};
    if (d.root) j["root"] = *d.root;
    if (d.promised)
        j.update({{"segments", d.promised->segments},
                  {"predicted_tail_ns", d.promised->tail},
                  {"chosen_in_ns", d.promised->chosen_in}});
    put_times(j, "measured", d.measured);
    if (!d.incumbent.empty()) j["incumbent"] = d.incumbent;
    put_times(j, "incumbent", d.of_incumbent);
    put_times(j, "native", d.of_native);
    if (d.pattern)
        j["pattern"] = {{"first", d.pattern->first}, {"last", d.pattern->last}, {"imbalance_ns", d.pattern->imbalance}};
}

void from_json(const json& j, decision& d) {
    d = {};
    d.made = parse_verdict(j.at("decision").get<std::string>());
    d.what = parse_collective(j.at("operation").get<std::string>());
    d.bytes = j.value("bytes", d.bytes);
    d.ranks = j.value("ranks", d.ranks);
    d.call = j.value("call", d.call);
    d.algorithm = j.value("algorithm", d.algorithm);
    d.reason = j.value("reason", d.reason);
    if (j.contains("root")) d.root = j["root"].get<std::int32_t>();
    if (j.contains("predicted_tail_ns"))
        d.promised = {j.value("segments", std::uint32_t{1}), j["predicted_tail_ns"].get<time_ns>(),
                      j.value("chosen_in_ns", time_ns{})};
    d.measured = times_in(j, "measured");
    d.incumbent = j.value("incumbent", d.incumbent);
    d.of_incumbent = times_in(j, "incumbent");
    d.of_native = times_in(j, "native");
    if (j.contains("pattern")) {
        const json& p = j["pattern"];
        d.pattern = {p.at("first").get<std::int32_t>(), p.at("last").get<std::int32_t>(),
                     p.at("imbalance_ns").get<time_ns>()};
    }
}

std::string to_line(const decision& d) { return json(d).dump(-1, ' ', false, json::error_handler_t::replace); }

namespace {

/// Longer ones are of interest to machines only.
constexpr std::size_t longest_command = 2000;

std::string note_line(const char* name, json what) {
    return json{{name, std::move(what)}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

void to_json(json& j, const run_begun& r) { j = {{"when", r.when}, {"command", r.command}}; }

void from_json(const json& j, run_begun& r) {
    j.at("when").get_to(r.when);
    j.at("command").get_to(r.command);
}

void to_json(json& j, const profile_read& p) {
    j = {{"file", p.file}, {"runs", p.runs}, {"experiences", p.experiences}, {"network", p.network}};
}

void from_json(const json& j, profile_read& p) {
    j.at("file").get_to(p.file);
    j.at("runs").get_to(p.runs);
    j.at("experiences").get_to(p.experiences);
    j.at("network").get_to(p.network);
}

void to_json(json& j, const recalled& r) {
    j = r.what;
    j["ranks"] = r.ranks;
}

void from_json(const json& j, recalled& r) {
    j.get_to(r.what);
    j.at("ranks").get_to(r.ranks);
    if (r.ranks < 1) throw json::other_error::create(501, "no ranks", nullptr);
}

run_begun begin_of_this() {
    std::ifstream in("/proc/self/cmdline", std::ios::binary);
    std::string words(std::istreambuf_iterator<char>(in), {});
    while (!words.empty() && words.back() == '\0') words.pop_back();
    std::ranges::replace(words, '\0', ' ');
    if (words.size() > longest_command) words.replace(longest_command, std::string::npos, "...");
    return {std::time(nullptr), words};
}

std::string to_line(const run_begun& r) { return note_line("run", r); }
std::string to_line(const profile_read& p) { return note_line("profile", p); }
std::string to_line(const recalled& r) { return note_line("recalled", r); }

}  // namespace rubato::dropin
