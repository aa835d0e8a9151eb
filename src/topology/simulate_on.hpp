// When does each rank leave, if messages share the cables of a network? The event simulation of rubato/simulate.hpp
// with transfers in place of fixed times: a message alone on its cables takes what the model says; several on one cable
// share its rate fairly. Ranks on one endpoint share its cable by the same means.
#pragma once

#include "rubato/simulate.hpp"
#include "schedule/shapes.hpp"
#include "topology/congestion.hpp"

namespace rubato::topology {

/// Throws if messages cannot meet on cables under this model.
RUBATO_API void check_for_cables(const model& m);

/// hockney: a message begins when both sides are ready and takes alpha, then its bytes.
/// loggp: as without a network, but a rank's messages to different ranks are under way at the same time; those to one
/// rank follow each other. If the model has a rendezvous size, messages below it leave their endpoint in turn.
/// Messages between ranks on one endpoint use no cable and take as long as one that is alone, or what `options.inside`
/// says. Throws as check_for_cables does, or if the schedules deadlock.
RUBATO_API simulation simulate_on(const routes& r, const mapping& where, const model& m, shape_table& ranks,
                                  std::span<const time_ns> arrivals, const simulation_options& options = {});

}  // namespace rubato::topology
