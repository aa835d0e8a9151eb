#include "profile/experience_json.hpp"

#include "results/json_time.hpp"

#include <algorithm>

namespace rubato {
namespace {

using nlohmann::json;

/// Larger ones are never written, and sums of some must not overflow.
constexpr std::int64_t most = std::int64_t{1} << 60;

template <class T>
T number_in(const json& j, const char* name, std::int64_t high = most) {
    const auto n = j.at(name).get<std::int64_t>();
    if (n < 0 || n > high) throw json::other_error::create(501, "a number that makes no sense", nullptr);
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
    if (std::ranges::any_of(e.arrivals, [](time_ns t) { return t < time_ns{} || t > time_ns(most); }))
        throw json::other_error::create(501, "an arrival that makes no sense", nullptr);
    if (!j.contains("algorithm")) return;
    j["algorithm"].get_to(e.algorithm);
    e.segment = number_in<std::int64_t>(j, "segment");
    e.round_time = number_in<time_ns>(j, "round_ns");
    e.rolls = j.value("roll_call", false);
    e.of_plan = {number_in<time_ns>(j, "plan_tail_ns"), number_in<time_ns>(j, "plan_pace_ns")};
}

}  // namespace rubato
