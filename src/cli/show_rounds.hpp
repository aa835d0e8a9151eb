// Rounds in the command: who makes them, and how they are written and read.
#pragma once

#include "clairvoyant/rounds.hpp"
#include "rubato/algorithm.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace rubato::cli {

/// A way to make the rounds of an algorithm.
struct generator {
    std::string_view id;    ///< the algorithm
    std::string_view name;  ///< the first one of an algorithm is the one it uses
    clairvoyant::rounds (*make)(const clairvoyant::instance&);
    clairvoyant::rounds (*make_one)(const clairvoyant::instance&, rank);  ///< of one rank, or null
};
/// The one of that name, or if it is empty the algorithm's own; null if it does not plan in rounds.
/// Throws if it has none of that name.
const generator* find_generator(const algorithm& a, std::string_view name);

/// The length, and the transfers of each round; many idle rounds in a row are one "skip".
std::string rounds_to_json(const algorithm& a, const problem& p, const clairvoyant::rounds& r);
/// Throws if somebody sends what it does not hold, and if something is missing or of another kind.
clairvoyant::rounds rounds_from_json(const problem& p, const nlohmann::ordered_json& j);
/// 0<-1:2 means that rank 0 receives segment 2 from rank 1.
std::string rounds_to_text(const algorithm& a, const problem& p, const clairvoyant::rounds& r);

/// How long the rounds are and how long it takes to make them.
std::string rounds_statistics(const generator& g, const problem& p, bool json);

}  // namespace rubato::cli
