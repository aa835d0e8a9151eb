// What the arrivals of several invocations have in common.
#pragma once

#include "observe/observation.hpp"

namespace rubato::observe {

time_ns median_time(std::span<const double> ns);

/// All but `waiting`. At least one invocation of so many calls, each from its first arrival on.
arrivals_seen describe(std::vector<invocation> met, std::uint64_t calls);

}  // namespace rubato::observe
