#include "files/json_lines.hpp"
#include "files/output_file.hpp"
#include "files/own_folder.hpp"
#include "profile/experience_json.hpp"
#include "profile/profile.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/model.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

namespace rubato::profiles {
namespace {

using nlohmann::json;

constexpr int format = 1;
constexpr std::string_view way_out = "remove it, and the next run writes it anew";
constexpr files::json_lines our_lines{
    .head = "profile",
    .not_ours = "it is not a profile that this version of 'rubato exec --mode auto' has written",
    .way_out = way_out,
    .sealed = true,
};

[[noreturn]] void make_no_sense(const char* what) { throw json::other_error::create(501, what, nullptr); }

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
    files::json_line_writer lines(our_lines.head);
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
    const files::plain_file in(file, files::plain_file::links::followed);
    if (!in.is_open())
        throw error(fmt::format("cannot read '{}'", file),
                    errno == EINVAL ? "it is no plain file" : std::strerror(errno), instead);
    if (!files::is_us(in.owner(), std::filesystem::path(file).parent_path()))
        throw error(fmt::format("cannot use '{}'", file), files::belongs_to(in.owner()),
                    "give a copy of it that is yours");
    if (in.size() > longest)
        throw error(fmt::format("'{}' is no profile", file), "it is longer than a profile can be", instead);
    std::string text(in.size(), ' ');
    text.resize(in.read(0, text.data(), text.size()));
    return text;
}

void write(const profile& p, const std::string& file) { files::output_file(file).write(to_text(p)); }

}  // namespace rubato::profiles
