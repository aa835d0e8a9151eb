// Schedules on a network of cables, played by SimGrid.
#pragma once

#include "rubato/model.hpp"
#include "schedules/schedule/shapes.hpp"
#include "simulator/topology/congestion.hpp"

namespace rubato {

/// When each rank leaves, in seconds. The rules are those of simulator::simulate_on for loggp, except that o is a part
/// of the latency and there is no gap: SimGrid shares the cables, and each step is an actor.
std::vector<double> exits_by_simgrid(const simulator::routes& r, const simulator::mapping& where, const loggp& m,
                                     schedules::shape_table& ranks, std::span<const time_ns> arrivals);

}  // namespace rubato
