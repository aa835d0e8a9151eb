// Measuring a network: round trips of several sizes over a link, and what it takes to combine what has come.
#pragma once

#include "network/loggp_fit.hpp"
#include "network/mpi/measured_link.hpp"

#include <span>
#include <vector>

namespace rubato::mpi {

constexpr int most_repetitions = 300;

/// All sizes in turn, again and again: what disturbs for a while disturbs all of them a little, none of them much.
RUBATO_API std::vector<round_trips> sweep(link_client& link, std::span<const std::int64_t> sizes, time_ns budget,
                                          int repetitions = most_repetitions);

/// What combining takes per byte, as the engine combines what it has received, in segments of usual size.
RUBATO_API reading measure_combine();

/// Collective: a model of the network between ranks 0 and `other` of `comm`, for all, in about that time. It is less
/// exact than what `rubato loggp` measures.
RUBATO_API model measure_model(MPI_Comm comm, int other, time_ns budget);

}  // namespace rubato::mpi
