// Schedules and rounds as JSON, and rounds as text: written by the command and by bench/generators, read by the
// command.
#pragma once

#include "base/files/json.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/problem.hpp"
#include "rubato/schedule.hpp"
#include "schedules/clairvoyant/clairvoyant.hpp"

#include <nlohmann/json_fwd.hpp>

namespace rubato::command {

/// How an algorithm makes its rounds; null if it does not plan in rounds.
using round_maker = schedules::rounds (*)(const schedules::instance&);
round_maker rounds_of(const algorithm& a);

/// "reduce/clairvoyant: 4 ranks, root 0, 4 segments, rounds of 1.00 us"
std::string rounds_heading(const algorithm& a, const problem& p);
/// The length, and the transfers of each round; many idle rounds in a row are one "skip".
std::string rounds_to_json(const algorithm& a, const problem& p, const schedules::rounds& r);
/// Throws if a rank sends a segment that it does not hold, or if something is missing or of another kind.
schedules::rounds rounds_from_json(const problem& p, const nlohmann::ordered_json& j);
/// 0<-1:2 means that rank 0 receives segment 2 from rank 1.
std::string rounds_to_text(const algorithm& a, const problem& p, const schedules::rounds& r);

/// All ranks' schedules of a problem, complete enough to rebuild them.
base::json schedules_to_json(std::string_view id, const problem& p, std::span<const schedule> all);

struct named_schedules {
    std::string id{};
    problem p{};
    std::vector<schedule> all{};
    bool equal_parts = false;  ///< see verify
};
/// Throws if something is missing or of another kind.
named_schedules schedules_from_json(std::string_view text);

}  // namespace rubato::command
