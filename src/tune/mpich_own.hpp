#pragma once

#include "rubato/problem.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace rubato::tune {

/// Conditions in the order in which MPICH tries them.
using mpich_tree = nlohmann::ordered_json;

mpich_tree mpich_leaf(std::string_view native);
/// All collectives.
mpich_tree mpich_own_trees();
/// Where the algorithms of a collective for intra-communicators begin.
mpich_tree& mpich_tuned_place(mpich_tree& all, collective what);
/// The algorithm, without MPIR_; empty if the collective is not known.
std::string mpich_own_choice(collective what, std::int32_t ranks, std::int64_t bytes);

}  // namespace rubato::tune
