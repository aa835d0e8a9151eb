// The common clock over MPI. All ranks run on one machine but pretend to have shifted and drifting clocks, so the test
// knows the true offsets.
#include "engine/mpi/private_communicator.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <thread>

namespace {

using namespace rubato;
using namespace std::chrono_literals;

int me = 0;
int ranks = 1;

/// The clock of rank r when the machine's shows t, counted from the same start on all ranks.
time_ns pretended(int r, time_ns t) {
    const int drift_ppm = r % 2 == 0 ? 90 - r : r - 100;
    return (ranks - r) * 1h + t + t * drift_ppm / 1'000'000;
}

void expect(bool right, const std::string& what) {
    if (right) return;
    fmt::print(stderr, "clock: rank {} of {}: {}\n", me, ranks, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void check_reading(time_ns start, const common_clock& clock) {
    const time_ns before = own_time() - start;
    const time_ns shown = clock.now();
    const time_ns bound = clock.error_bound();
    const time_ns after = own_time() - start;
    expect(pretended(0, before) - bound <= shown && shown <= pretended(0, after) + bound,
           fmt::format("shows {} between {} and {}, the bound being {}", shown.count(), pretended(0, before).count(),
                       pretended(0, after).count(), bound.count()));
}

void run(MPI_Comm comm) {
    std::int64_t start = own_time().count();
    MPI_Bcast(&start, 1, MPI_INT64_T, 0, comm);
    common_clock clock([&] { return pretended(me, own_time() - time_ns(start)); });
    for (int sync = 0; sync < 8; ++sync) {
        engine::synchronise(comm, 17, clock);
        for (int look = 0; look < 3; ++look) {
            check_reading(time_ns(start), clock);
            std::this_thread::sleep_for(20ms);
        }
    }
    // Ranks share cores, and a round trip may take many time slices. The pretended clocks are hours apart.
    expect(clock.error_bound() < 1min, fmt::format("the bound is {}", format_time(clock.error_bound())));
    expect(std::abs(clock.drift()) < 2 * max_drift, fmt::format("the drift is {}", clock.drift()));
    fmt::print("rank {}: within {}, drift {:.1f} +- {:.1f} ppm\n", me, format_time(clock.error_bound()),
               clock.drift() * 1e6, clock.drift_error() * 1e6);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    try {
        run(comm);
    } catch (const std::exception& e) {
        fmt::print(stderr, "clock: {}\n", e.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
}
