// A trace as a program that the simulator plays, or that GOAL describes: what ranks computed between the calls that are
// in the trace, and these calls.
#pragma once

#include "exports/trace.hpp"
#include "programs/program.hpp"

namespace rubato::exports {

struct replay {
    program what{};
    time_ns took{};              ///< from the first arrival to the last exit that are in it
    std::uint64_t of_ranks = 0;  ///< calls in it, counted by each rank that takes part
};

/// The calls that all their ranks kept, except for those of neighbours, whose graph is not known. What is between them
/// counts as computing. Calls of one place whose sizes differ by less than a factor of two have their mean size.
/// `file` is named if the trace has too little; then it throws.
replay replay_of(const trace& t, const std::string& file);

/// The algorithms of Rubato that made calls: those that mode force was given, and those that mode auto has kept.
void set_algorithms(program& p, std::span<const decision> decisions);

}  // namespace rubato::exports
