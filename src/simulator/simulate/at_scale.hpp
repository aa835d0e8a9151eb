// Simulation and cost of schedules that are dropped as soon as they are made.
#pragma once

#include "rubato/algorithm.hpp"
#include "rubato/cost.hpp"
#include "rubato/simulate.hpp"
#include "schedules/schedule/shapes.hpp"

namespace rubato::simulator {

class shared_cables;

/// The schedules of an algorithm. `layouts`: one for all ranks, or one per rank; their units are bytes.
RUBATO_API schedules::shape_table shapes_of(const algorithm& a, const problem& p, std::span<const layout> layouts);

// As simulate.hpp and cost.hpp have them. A simulation notes in the shapes what its model makes of their steps. With
// cables, these say which ranks share a host.
RUBATO_API simulation simulate(const model& m, schedules::shape_table& ranks, std::span<const time_ns> arrivals,
                               const simulation_options& options = {}, shared_cables* cables = nullptr);
RUBATO_API cost count_cost(const schedules::shape_table& ranks);

}  // namespace rubato::simulator
