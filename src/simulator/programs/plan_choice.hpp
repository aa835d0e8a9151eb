// Which algorithm each call of a program should have, so that the program, and not the call, takes least.
//
// Where late ranks change and ranks may run ahead of each other, the plan with the shortest tail may be the worst: it
// couples all ranks in every call. So all calls of the program are played, with the times that its ranks compute
// between them. What a plan does to lateness is its response (choose/response.hpp), so that a plan is tried in
// microseconds per call. Calls are decided one after the other, the others as they are, until nothing changes.
#pragma once

#include "rubato/choose.hpp"
#include "simulator/programs/program.hpp"

#include <vector>

namespace rubato::simulator {

struct plan_choice {
    std::vector<std::size_t> alike{};  ///< for each call of the program, the first one like it
    /// Of each call of the program, with the end of the program that it makes if the other calls have their first one;
    /// the best first. A call whose algorithm the program says has that alone.
    std::vector<std::vector<candidate>> calls{};
    time_ns end{};           ///< of the program, by the first of each
    time_ns call_by_call{};  ///< by what suits each call best by itself, with the ranks as late as they are on average
};

/// Algorithms that plan by arrivals plan by the mean of each rank's times. Throws if a call has no algorithm, or all
/// are too large.
RUBATO_API plan_choice choose_plan(const program& p, const model& network);

/// The program with the first candidate of each call.
RUBATO_API program planned(program p, const plan_choice& by);

}  // namespace rubato::simulator
