#include "observe/recalled.hpp"

#include "profile/experience_json.hpp"

#include <nlohmann/json.hpp>

namespace rubato::observe {
namespace {

using nlohmann::json;

std::string note_line(const char* name, json what) {
    return json{{name, std::move(what)}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

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

std::string to_line(const profile_read& p) { return note_line("profile", p); }
std::string to_line(const recalled& r) { return note_line("recalled", r); }

}  // namespace rubato::observe
