// A call's arrivals if something were mended.
#pragma once

#include "rubato/core.hpp"

#include <span>
#include <vector>

namespace rubato::report {

using arrival_times = std::vector<time_ns>;

/// The median arrival; of an even number, the earlier of the two in the middle.
time_ns typical(const arrival_times& arrivals);
/// These ranks arrive with the median of the others, unless they were earlier.
arrival_times without(const arrival_times& arrivals, std::span<const std::int32_t> ranks);
/// Ranks that are more than half as far behind the median as the last arrive with the median.
arrival_times without_stragglers(const arrival_times& arrivals);
/// Nobody arrives later than the median.
arrival_times without_noise(const arrival_times& arrivals);
/// All arrive with the mean: the work is the same, and evenly shared.
arrival_times balanced(const arrival_times& arrivals);

}  // namespace rubato::report
