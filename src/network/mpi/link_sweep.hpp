// Measuring a network: round trips of several sizes over a link, and the time to combine received data.
#pragma once

#include "network/loggp_fit.hpp"
#include "network/mpi/measured_link.hpp"

#include <span>
#include <vector>

namespace rubato::mpi {

constexpr int most_repetitions = 300;

/// All sizes in turn, again and again: a disturbance affects all of them a little, none of them much.
RUBATO_API std::vector<round_trips> sweep(link_client& link, std::span<const std::int64_t> sizes, time_ns budget,
                                          int repetitions = most_repetitions);

/// The time to combine a byte, as the engine combines received segments of usual size.
RUBATO_API reading measure_combine(int repetitions = 200);

/// Collective: a model of the network between ranks 0 and `other` of `comm`, for all, in about that time. It is less
/// exact than the model of `rubato loggp`.
RUBATO_API model measure_model(MPI_Comm comm, int other, time_ns budget);

}  // namespace rubato::mpi
