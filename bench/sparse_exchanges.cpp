// Sparse exchanges: which way is the fastest, and does Rubato find it? Every rank sends `bytes` to 1, 4 or 15 others,
// drawn anew for each exchange. Every way in every repetition, in turn, and a full native alltoallv.
//
//   mpirun -n P sparse_exchanges [BYTES [REPETITIONS]]
#include "base/statistics/statistics.hpp"
#include "rubato/mpi.hpp"
#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace {

using namespace rubato;

int me = 0;
int ranks = 1;

/// The longest time that a rank spends in it, from a barrier on.
template <class F>
double seconds(F f) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    f();
    double spent = MPI_Wtime() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &spent, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return spent;
}

std::vector<int> partners_of(int rank, int partners, unsigned seed) {
    std::vector<int> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    std::erase(all, rank);
    std::mt19937 random(seed * 1000 + static_cast<unsigned>(rank));
    std::ranges::shuffle(all, random);
    all.resize(static_cast<std::size_t>(std::min(partners, ranks - 1)));
    return all;
}

void native_alltoallv(const std::vector<int>& to, std::vector<std::byte>& data, std::int64_t bytes) {
    const auto n = static_cast<std::size_t>(ranks);
    std::vector<int> sends(n), recvs(n), from(n), into(n);
    for (const int r : to) sends[static_cast<std::size_t>(r)] = static_cast<int>(bytes);
    MPI_Alltoall(sends.data(), 1, MPI_INT, recvs.data(), 1, MPI_INT, MPI_COMM_WORLD);
    std::exclusive_scan(recvs.begin(), recvs.end(), into.begin(), 0);
    std::vector<std::byte> got(static_cast<std::size_t>(into.back() + recvs.back()) + 1);
    MPI_Alltoallv(data.data(), sends.data(), from.data(), MPI_BYTE, got.data(), recvs.data(), into.data(), MPI_BYTE,
                  MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const std::int64_t bytes = parse_bytes(argc > 1 ? argv[1] : "1KiB");
    const auto repetitions = static_cast<unsigned>(argc > 2 ? parse_integer(argv[2], "repetitions", 8, 100000) : 30);
    {
        mpi::communicator named(MPI_COMM_WORLD);
        std::vector<std::byte> data(static_cast<std::size_t>(bytes));
        using enum mpi::sparse_way;
        std::vector<std::vector<std::string>> rows{
            {"partners", "consensus", "counts", "alltoall", "left to Rubato", "native alltoallv"}};
        for (const int partners : {1, 4, 15}) {
            mpi::communicator choosing(MPI_COMM_WORLD);  // it knows nothing
            std::vector<std::vector<double>> times(5);
            for (unsigned i = 0; i < repetitions; ++i) {
                const std::vector<int> to = partners_of(me, partners, i);
                std::vector<mpi::sparse_send> sends;
                for (const int r : to) sends.push_back({r, data});
                std::size_t column = 0;
                for (const mpi::sparse_way way : {consensus, counts, alltoall})
                    times[column++].push_back(seconds([&] { (void)named.exchange_sparse(sends, way); }));
                times[column++].push_back(seconds([&] { (void)choosing.exchange_sparse(sends); }));
                times[column++].push_back(seconds([&] { native_alltoallv(to, data, bytes); }));
            }
            rows.push_back({fmt::format("{}", partners)});
            for (const std::vector<double>& t : times)
                rows.back().push_back(fmt::format("{:.2f} ms", base::median(t) * 1e3));
        }
        if (me == 0) {
            fmt::print("{} ranks, {} per partner; medians of {}, from the first to the last exit\n\n", ranks,
                       format_bytes(bytes), repetitions);
            print_table(rows);
        }
    }
    MPI_Finalize();
    return 0;
}
