#include "dropin/profile/profile.hpp"

#include "base/core/text.hpp"
#include "base/files/json_lines.hpp"
#include "base/files/json_time.hpp"
#include "base/files/output_file.hpp"
#include "base/files/own_folder.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/model.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace rubato::dropin {

using nlohmann::json;

namespace {

[[noreturn]] void make_no_sense(const char* what) { throw json::other_error::create(501, what, nullptr); }

/// Larger ones are never written, and sums of some must not overflow.
constexpr std::int64_t largest = std::int64_t{1} << 60;

template <class T>
T number_in(const json& j, const char* name, std::int64_t high = largest) {
    const auto n = j.at(name).get<std::int64_t>();
    if (n < 0 || n > high) make_no_sense("a number that makes no sense");
    return T(n);
}

}  // namespace

void to_json(json& j, const experience& e) {
    j = {{"collective", traits(e.kind.what).name},
         {"root", e.kind.root.value},
         {"size_class", e.kind.size_class},
         {"bytes", e.bytes},
         {"native_tail_ns", e.of_native.tail},
         {"native_pace_ns", e.of_native.pace},
         {"arrivals_ns", e.arrivals}};
    if (e.algorithm.empty()) return;
    j["algorithm"] = e.algorithm;
    j["segment"] = e.segment;
    j["round_ns"] = e.round_time;
    if (e.rolls) j["roll_call"] = true;
    j["plan_tail_ns"] = e.of_plan.tail;
    j["plan_pace_ns"] = e.of_plan.pace;
}

void from_json(const json& j, experience& e) {
    constexpr std::int64_t most_ranks = std::int64_t{1} << 30;
    e = {};
    e.kind.what = parse_collective(j.at("collective").get<std::string>());
    e.kind.root = rank(number_in<std::int32_t>(j, "root", most_ranks));
    e.kind.size_class = number_in<std::uint8_t>(j, "size_class", 64);
    e.bytes = number_in<std::int64_t>(j, "bytes");
    e.of_native = {number_in<time_ns>(j, "native_tail_ns"), number_in<time_ns>(j, "native_pace_ns")};
    j.at("arrivals_ns").get_to(e.arrivals);
    if (std::ranges::any_of(e.arrivals, [](time_ns t) { return t < time_ns{} || t > time_ns(largest); }))
        make_no_sense("an arrival that makes no sense");
    if (!j.contains("algorithm")) return;
    j["algorithm"].get_to(e.algorithm);
    e.segment = number_in<std::int64_t>(j, "segment");
    e.round_time = number_in<time_ns>(j, "round_ns");
    e.rolls = j.value("roll_call", false);
    e.of_plan = {number_in<time_ns>(j, "plan_tail_ns"), number_in<time_ns>(j, "plan_pace_ns")};
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view extension = ".profile";

/// A relative one is to be ignored, as the XDG specification has it.
std::optional<fs::path> absolute_in(const char* variable) {
    const char* const text = std::getenv(variable);
    if (text == nullptr || *text != '/') return std::nullopt;
    return fs::path(text);
}

constexpr int format = 1;
constexpr std::string_view way_out = "remove it, and the next run writes it anew";
constexpr base::json_lines our_lines{
    .head = "profile",
    .not_ours = "it is not a profile that this version of 'rubato exec --mode auto' has written",
    .way_out = way_out,
    .sealed = true,
};

/// A name such as file:my.model would be read again, and perhaps not by all ranks.
std::string model_in(const json& fields, const char* name) {
    auto text = fields.at(name).get<std::string>();
    if (text.starts_with("file:")) make_no_sense("a model that is a file");
    if (!text.empty()) (void)parse_model(text);
    return text;
}

void take_head(profile& p, const json& fields) {
    if (p.of.ranks != 0) make_no_sense("a second profile");
    if (fields.at("format").get<int>() != format) make_no_sense("another format");
    fields.at("program").get_to(p.of.program);
    fields.at("ranks").get_to(p.of.ranks);
    fields.at("hosts").get_to(p.of.hosts);
    fields.at("library").get_to(p.of.library);
    fields.at("written").get_to(p.written);
    fields.at("runs").get_to(p.runs);
    p.models = {model_in(fields, "model_within"), model_in(fields, "model_between")};
    if (p.of.ranks < 1 || p.runs < 0) make_no_sense("no ranks");
}

std::uint64_t hash_in(const std::string& text) {
    std::uint64_t hash = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), hash, 16);
    if (failure != std::errc{} || end != text.data() + text.size()) make_no_sense("no hash");
    return hash;
}

/// Another version may have other algorithms, or have used one whose ranks may get different bits.
bool is_used_here(const std::string& algorithm_id) {
    return algorithm_id.empty() ||
           std::ranges::any_of(algorithms(), [&](const algorithm& a) { return a.id == algorithm_id && a.same_bits; });
}

/// What directors rely on: arrivals of all ranks or of none, a root that is there.
void take_experience(profile& p, const json& fields) {
    const group where{hash_in(fields.at("members").get<std::string>()), fields.at("size").get<std::int32_t>()};
    auto what = fields.get<experience>();
    const auto ranks = static_cast<std::size_t>(where.size);
    if (where.size < 1 || where.size > p.of.ranks || what.kind.root.value >= where.size ||
        (!what.arrivals.empty() && what.arrivals.size() != ranks))
        make_no_sense("an experience that contradicts itself");
    if (is_used_here(what.algorithm)) p.put(where, std::move(what), fields.at("met").get<std::int64_t>());
}

}  // namespace

std::string to_text(const profile& p) {
    std::vector<std::map<profile::place, profile::memory>::const_iterator> latest_first;
    for (auto at = p.known.begin(); at != p.known.end(); ++at) latest_first.push_back(at);
    std::ranges::stable_sort(latest_first, std::greater{}, [](auto at) { return at->second.met; });
    std::vector<json> experiences;
    std::size_t bytes = 0;
    for (const auto at : latest_first) {
        json fields = at->second.what;
        fields["members"] = fmt::format("{:016x}", at->first.where.members);
        fields["size"] = at->first.where.size;
        fields["met"] = at->second.met;
        bytes += fields.dump().size();
        if (experiences.size() == most_experiences || bytes > most_bytes) break;
        experiences.push_back(std::move(fields));
    }
    base::json_line_writer lines(our_lines.head);
    std::string text = lines.line(our_lines.head, {{"format", format},
                                                   {"program", p.of.program},
                                                   {"ranks", p.of.ranks},
                                                   {"hosts", p.of.hosts},
                                                   {"library", p.of.library},
                                                   {"written", p.written},
                                                   {"runs", p.runs},
                                                   {"model_within", p.models.within},
                                                   {"model_between", p.models.between},
                                                   {"lines", 1 + experiences.size()}});
    for (const json& fields : experiences) text += lines.line("experience", fields);
    return text;
}

profile parse(std::string_view text, const std::string& file) {
    profile p;
    std::size_t announced = 0;
    std::size_t taken = 0;
    our_lines.parse(text, file, [&](std::string_view kind, const json& fields) {
        ++taken;
        if (kind == our_lines.head) {
            announced = fields.at("lines").get<std::size_t>();
            take_head(p, fields);
        } else if (kind == "experience") {
            take_experience(p, fields);
        }
    });
    if (taken != announced || !text.ends_with('\n'))
        throw error(fmt::format("'{}' is cut short", file), fmt::format("it has {} lines of {}", taken, announced),
                    way_out);
    return p;
}

std::string text_of(const std::string& file) {
    constexpr std::size_t longest = 2 * most_bytes;
    constexpr std::string_view instead = "give a file that 'rubato exec --mode auto --profile FILE' has written";
    const base::plain_file in(file, base::plain_file::links::followed);
    if (!in.is_open())
        throw error(fmt::format("cannot read '{}'", file),
                    errno == EINVAL ? "it is no plain file" : std::strerror(errno), instead);
    if (!base::is_us(in.owner(), std::filesystem::path(file).parent_path()))
        throw error(fmt::format("cannot use '{}'", file), base::belongs_to(in.owner()),
                    "give a copy of it that is yours");
    if (in.size() > longest)
        throw error(fmt::format("'{}' is no profile", file), "it is longer than a profile can be", instead);
    std::string text(in.size(), ' ');
    text.resize(in.read(0, text.data(), text.size()));
    return text;
}

void write(const profile& p, const std::string& file) { base::output_file(file).write(to_text(p)); }

std::vector<std::int32_t> ranks_per_host(std::span<const std::int32_t> host_of_rank) {
    std::vector<std::int32_t> order;
    std::vector<std::int32_t> counts;
    for (const std::int32_t host : host_of_rank) {
        const auto found = std::ranges::find(order, host);
        const auto at = static_cast<std::size_t>(found - order.begin());
        if (found == order.end()) {
            order.push_back(host);
            counts.push_back(0);
        }
        ++counts[at];
    }
    return counts;
}

group group_of(std::span<const std::int32_t> world_ranks) {
    return {base::checksum(fmt::format("{}", fmt::join(world_ranks, ","))),
            static_cast<std::int32_t>(world_ranks.size())};
}

void profile::put(const group& where, experience what, std::int64_t met) {
    const place at{where, what.kind};
    known.insert_or_assign(at, memory{std::move(what), met});
}

std::vector<experience> profile::experiences_of(const group& where) const {
    std::vector<experience> all;
    for (auto at = known.lower_bound({where, {}}); at != known.end() && at->first.where == where; ++at)
        all.push_back(at->second.what);
    return all;
}

void trim(profile& p, std::size_t most) {
    if (p.known.size() <= most) return;
    std::vector<std::map<profile::place, profile::memory>::iterator> oldest_first;
    for (auto at = p.known.begin(); at != p.known.end(); ++at) oldest_first.push_back(at);
    std::ranges::stable_sort(oldest_first, {}, [](auto at) { return at->second.met; });
    oldest_first.resize(oldest_first.size() - most);
    for (const auto at : oldest_first) p.known.erase(at);
}

void check_key(const profile& p, const key& wanted, const std::string& file) {
    const auto refuse = [&](const std::string& reason) {
        throw error(fmt::format("'{}' is the profile of other runs", file), reason,
                    "give each kind of run a file of its own");
    };
    if (p.of.program != wanted.program)
        refuse(fmt::format("it is of the program {}, not {}", p.of.program, wanted.program));
    if (p.of.ranks != wanted.ranks) refuse(fmt::format("it is of {} ranks, not {}", p.of.ranks, wanted.ranks));
    if (p.of.hosts != wanted.hosts)
        refuse(
            fmt::format("its hosts have {} ranks, not {}", fmt::join(p.of.hosts, ", "), fmt::join(wanted.hosts, ", ")));
    if (p.of.library != wanted.library) refuse(fmt::format("it is of {}, not {}", p.of.library, wanted.library));
}

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
    return fmt::format("{}-{}-{:016x}", program, k.ranks, base::checksum(all));
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

}  // namespace rubato::dropin
