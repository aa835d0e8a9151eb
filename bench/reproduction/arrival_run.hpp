// One scatter or gather of Proficz 2020, simulated.
#pragma once

#include "rubato/algorithm.hpp"
#include "rubato/arrival.hpp"
#include "rubato/simulate.hpp"

namespace reproduction {

/// When ranks leave if they arrive as predicted. The root is rank 0.
std::vector<rubato::time_ns> exits(std::string_view id, const rubato::hockney& m, std::int64_t chunk,
                                   const std::vector<rubato::time_ns>& arrivals);

}  // namespace reproduction
