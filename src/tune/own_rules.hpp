#pragma once

#include "rubato/tuned_rules.hpp"
#include "tune/tuning.hpp"

#include <span>

namespace rubato::tune {

/// As Rubato's own rules, for each class of imbalance and for any. Decided problems are in the order of collectives,
/// ranks and sizes.
rules own_rules(std::span<const decided> all, std::optional<model> network);

}  // namespace rubato::tune
