// Random MPI programs, one after the other: collectives of random kind, form, size, datatype, root, operator and
// communicator, in place or not, with late ranks, several at once, from several threads, and some mistakes.
//
//   mpirun -n P random_program SEED [COUNT] [--threads] [--rounded] [--trace]
//
// Each program has a seed, SEED, SEED + 1, ...; rank 0 prints a line with a digest of all that all ranks computed. It
// is the same with every correct MPI library, with threads or without. With --rounded, some reductions are of numbers
// with full mantissas: of an allreduce, the digest contains whether all ranks have the same bits, and not the bits.
#include "program.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

/// By messages, because the collectives are under test.
std::uint64_t of_all_ranks(std::uint64_t mine) {
    int me = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (me != 0) {
        MPI_Send(&mine, 1, MPI_UINT64_T, 0, 1, MPI_COMM_WORLD);
        return mine;
    }
    random_program::digest sum;
    sum.add(mine);
    for (int r = 1; r < ranks; ++r) {
        MPI_Recv(&mine, 1, MPI_UINT64_T, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum.add(mine);
    }
    return sum.value();
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t seed = 1;
    int count = 1;
    int numbers = 0;
    bool threads = false;
    random_program::settings how{false, false, false};
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word == "--threads") {
            threads = true;
        } else if (word == "--rounded") {
            how.rounded = true;
        } else if (word == "--trace") {
            how.trace = true;
        } else if (++numbers == 1) {
            seed = std::strtoull(argv[i], nullptr, 10);
        } else {
            count = std::atoi(argv[i]);
        }
    }
    int granted = MPI_THREAD_SINGLE;
    if (threads) {
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
    } else {
        MPI_Init(&argc, &argv);
    }
    how.threads = threads && granted == MPI_THREAD_MULTIPLE;
    int me = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int i = 0; i < count; ++i, ++seed) {
        const std::uint64_t sum = of_all_ranks(random_program::run(seed, how));
        if (me != 0) continue;
        std::printf("program %llu: %016llx\n", static_cast<unsigned long long>(seed),
                    static_cast<unsigned long long>(sum));
        std::fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
