// The two ends of a link that is measured. An error on one of them leaves the other waiting, so callers end the
// program.
#pragma once

#include "rubato/clock.hpp"
#include "simulator/network/loggp_fit.hpp"

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

namespace rubato::engine {

/// Rank 0 of a communicator of two. The server does what it is told, and is ready when the clock starts.
class RUBATO_API link_client {
public:
    link_client(MPI_Comm pair, std::int64_t max_bytes);

    /// PRTT(messages, delay, bytes) less the delays, in nanoseconds.
    double round_trip(int messages, time_ns delay, std::int64_t bytes);
    /// Whether a send ends only when it is received. The receiver lets `patience` pass, longer than any transfer.
    bool send_waits(std::int64_t bytes, time_ns patience);
    /// The server returns.
    void stop();

private:
    MPI_Comm pair_;
    std::vector<std::byte> out_, in_;
};

/// Rank 1: until it is stopped.
RUBATO_API void serve_link(MPI_Comm pair, std::int64_t max_bytes);

constexpr int large_message = 4 << 20;
/// Both ranks: the fastest of some large messages one way, from rank 0 to 1 if `there`. No more of them begin after
/// `budget`.
RUBATO_API time_ns time_large_message(MPI_Comm pair, const common_clock& clock, bool there, time_ns budget);

constexpr int most_repetitions = 300;

/// All sizes in turn, again and again: a disturbance affects all of them a little, none of them much.
RUBATO_API std::vector<simulator::round_trips> sweep(link_client& link, std::span<const std::int64_t> sizes,
                                                     time_ns budget, int repetitions = most_repetitions);

/// The time to combine a byte, as the engine combines received segments of usual size.
RUBATO_API simulator::reading measure_combine(int repetitions = 200);

/// Collective: a model of the network between ranks 0 and `other` of `comm`, for all, in about that time. It is less
/// exact than the model of `rubato loggp`.
RUBATO_API model measure_model(MPI_Comm comm, int other, time_ns budget);

}  // namespace rubato::engine
