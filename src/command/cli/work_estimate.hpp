// Estimates the time and memory of a computation over all steps of a problem before it begins.
#pragma once

#include "simulator/choose/sample.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::command {

/// Of one step.
struct step_cost {
    double ns;
    double bytes;  ///< of memory, beside its schedule's
};
inline constexpr step_cost to_simulate{400, 80};
inline constexpr double ns_per_byte = 0.5;   // to fill a schedule
inline constexpr double per_dependency = 4;  // bytes: a step knows what waits for it

struct work_estimate {
    double steps = 0;
    double ns = 0;
    double bytes = 0;

    work_estimate() = default;
    work_estimate(const simulator::step_counts& n, const step_cost& each)
        : steps(n.all),
          ns(n.all * each.ns + n.planning * to_simulate.ns + n.bytes * ns_per_byte),
          bytes(n.all * each.bytes + n.bytes + n.dependencies * per_dependency) {}
};

/// "about 2 s and 470 MiB for 3.1 million steps"
std::string to_string(const work_estimate& e);

inline constexpr double most_memory = 2. * (1 << 30);
/// Throws if it takes more than a minute or too much memory. `what` has the steps; `way_out` says what to do instead.
void refuse_large(std::string_view what, const work_estimate& e, std::string_view way_out);

// `rubato sim` simulates with all ranks what takes some seconds, and the memory that is there for it. Anything else
// follows from fewer ranks.

/// Of all ranks. Throws if check() does.
work_estimate work_to_simulate(const algorithm& a, const problem& p);

/// Whether it can be one of many that are tried.
bool is_quick(const work_estimate& e);

/// Which of these simulations are made: the quickest, as many as take some seconds in all. Several run at once.
std::vector<bool> affordable(std::span<const work_estimate> all);

}  // namespace rubato::command
