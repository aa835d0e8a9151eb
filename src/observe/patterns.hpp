// What the arrivals of several invocations have in common.
#pragma once

#include "observe/observation.hpp"

namespace rubato::observe {

time_ns median_time(std::span<const double> ns);

/// Everything except `waiting`. Needs at least one invocation, with times from its first arrival on, of `calls` calls.
arrivals_seen describe(std::vector<invocation> met, std::uint64_t calls);

/// An invocation in short.
brief in_short(const invocation& m);
/// Needs at least one.
lateness_map map_of(std::span<const invocation> met);

}  // namespace rubato::observe
