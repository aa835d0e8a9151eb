// Times in JSON are whole nanoseconds.
#pragma once

#include "rubato/core.hpp"

#include <nlohmann/json.hpp>

namespace nlohmann {

template <>
struct adl_serializer<rubato::time_ns> {
    static void to_json(json& j, const rubato::time_ns& t) { j = t.count(); }
    static void from_json(const json& j, rubato::time_ns& t) { t = rubato::time_ns(j.get<std::int64_t>()); }
};

}  // namespace nlohmann
