// What `rubato sim` simulates with all ranks: what takes some seconds, and the memory that is there for it. Anything
// else follows from fewer ranks.
#pragma once

#include "cli/effort.hpp"

#include <span>
#include <vector>

namespace rubato::cli {

/// Of all ranks. Throws if check() does.
effort effort_to_simulate(const algorithm& a, const problem& p);

/// Whether it can be one of many that are tried.
bool is_quick(const effort& e);

/// Which of these simulations are made: the quickest, as many as take some seconds in all. Several run at once.
std::vector<bool> affordable(std::span<const effort> all);

}  // namespace rubato::cli
