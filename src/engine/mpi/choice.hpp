// The algorithm where neither the caller nor a model chooses one.
//
// A call must name its algorithm before the arrivals for its plan are known, and a rank that has named a call
// beforehand may not wait for them. So the choice uses the arrivals that planned the last call of the same kind, which
// all ranks have; the plan uses the newest. A communicator keeps a choice while no arrival moves by more than a quarter
// of the predicted tail; where arrivals keep moving, it chooses again after 1, 2, 4, 8, 16, 16, ... moves. The chosen
// algorithm may not use arrivals; so that a late rank is still noticed, such intents are `observed`.
#pragma once

#include "rubato/algorithm.hpp"

namespace rubato::engine {

/// `bytes` of a chunk, equal on all ranks; not used where chunks differ.
const algorithm& default_algorithm(collective what, std::int32_t ranks, std::int64_t bytes);
std::uint32_t default_segments(const algorithm& a, std::int64_t bytes);

}  // namespace rubato::engine
