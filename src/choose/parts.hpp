// What the choice is made of.
#pragma once

#include "rubato/choose.hpp"

namespace rubato {

/// Sets end, messages and extrapolated. False if it cannot be built or simulated.
bool find_end(candidate& c, const problem& p, std::int64_t chunk, const model& m);

/// How many segments of that size a chunk has; 0: it is not cut.
std::uint32_t pieces(std::int64_t chunk, std::int64_t segment);
/// The problem's, or what suits its segments; nothing for an algorithm that does not plan by it.
time_ns round_time_of(const algorithm& a, const problem& p, std::int64_t chunk, const model& m);

}  // namespace rubato
