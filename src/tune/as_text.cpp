#include "tune/as_text.hpp"

#include <nlohmann/json.hpp>

namespace rubato::tune {
namespace {

using json = nlohmann::ordered_json;

json counts(const std::vector<time_ns>& times) {
    json out = json::array();
    for (const time_ns t : times) out.push_back(t.count());
    return out;
}

std::vector<time_ns> times(const json& counts) {
    std::vector<time_ns> out;
    for (const json& n : counts) out.emplace_back(n.get<time_ns::rep>());
    return out;
}

json json_of(const way& w) { return json::array({w.use != nullptr ? std::string(w.use->id) : "", w.segment}); }
way way_from(const json& j) {
    const auto id = j.at(0).get<std::string>();
    return {id.empty() ? nullptr : &find_algorithm(id), j.at(1).get<std::int64_t>()};
}

}  // namespace

std::string as_text(const timed_problem& p) {
    json out{{"what", traits(p.what).name},
             {"ranks", p.ranks},
             {"bytes", p.bytes},
             {"imbalances", counts(p.imbalances)},
             {"ways", json::array()},
             {"otherwise", p.otherwise ? json_of(*p.otherwise) : json()}};
    for (const timed_way& w : p.ways) out["ways"].push_back(json::array({json_of(w.how), counts(w.run_times)}));
    return out.dump();
}

timed_problem from_text(const std::string& text) {
    const json in = json::parse(text);
    timed_problem p{parse_collective(in.at("what").get<std::string>()), in.at("ranks").get<std::int32_t>(),
                    in.at("bytes").get<std::int64_t>(), times(in.at("imbalances"))};
    for (const json& w : in.at("ways")) p.ways.push_back({way_from(w.at(0)), times(w.at(1))});
    if (!in.at("otherwise").is_null()) p.otherwise = way_from(in.at("otherwise"));
    return p;
}

}  // namespace rubato::tune
