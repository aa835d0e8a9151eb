// The cost of the background thread in each of its states: nothing can come; something may come; messages come while
// the rank computes. As a share of one core, by the thread's own processor time.
//
//     mpirun -n 2 build/bench/background
#include "engine/mpi/process.hpp"
#include "rubato/mpi.hpp"

#include <fmt/format.h>

#include <thread>

namespace {

using namespace std::chrono_literals;
using rubato::collective;
using rubato::time_ns;

struct usage {
    double share;  ///< of a core
    double looks_per_s;
};

template <class F>
usage measure(F f) {
    rubato::engine::background& thread = rubato::engine::background_thread();
    const auto begin = std::chrono::steady_clock::now();
    const time_ns cpu = thread.processor_time();
    const std::uint64_t looks = thread.looks();
    f();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const std::chrono::duration<double> used = thread.processor_time() - cpu;
    return {used / took, static_cast<double>(thread.looks() - looks) / took.count()};
}

void report(int rank, const char* state, const usage& u) {
    if (rank == 1) fmt::print("{:<34} {:>8.2f} % {:>12.0f}\n", state, 100 * u.share, u.looks_per_s);
}

}  // namespace

int main(int argc, char** argv) {
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    {
        rubato::mpi::communicator world(MPI_COMM_WORLD);
        const int me = world.rank();
        if (me == 1) fmt::print("{:<34} {:>10} {:>12}\n", "STATE (on rank 1)", "CORE", "LOOKS/S");

        rubato::engine::background& thread = rubato::engine::background_thread();
        const auto nothing = thread.watch([] { return rubato::engine::activity::nothing; });
        report(me, "nothing can come", measure([] { std::this_thread::sleep_for(2s); }));
        thread.leave(nothing);

        std::vector<char> data(std::size_t{4} << 20);
        const auto bcast = rubato::mpi::call::bcast(data.data(), static_cast<std::int64_t>(data.size()), MPI_CHAR, 0);
        rubato::mpi::selection chain("bcast/chain+early");
        chain.segments = 256;
        world.run(chain, bcast);
        report(me, "something may come", measure([] { std::this_thread::sleep_for(2s); }));

        // Rank 0 sends at once; the others arrive 10 ms later, when the data has come.
        constexpr int rounds = 200;
        const std::uint64_t before = world.begun_early();
        report(me, "4 MiB come in 10 ms, again and again", measure([&] {
                   for (int i = 0; i < rounds; ++i) {
                       world.expect(chain, bcast);
                       if (me != 0) std::this_thread::sleep_for(10ms);
                       world.run(chain, bcast);
                       MPI_Barrier(MPI_COMM_WORLD);
                   }
               }));
        if (me == 1) fmt::print("begun before rank 1 arrived: {} of {}\n", world.begun_early() - before, rounds);
    }
    MPI_Finalize();
    return 0;
}
