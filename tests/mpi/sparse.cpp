// Sparse exchanges with random partners, sizes and delays, by every way, against what was drawn for each rank.
//
//   mpirun -n P sparse [--cases N]
#include "rubato/mpi.hpp"

#include "support/mpi_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

namespace {

using namespace rubato;
using testing::fail;
using testing::refusal;

int me = 0;
int ranks = 1;

struct given {
    int to;
    std::vector<std::byte> data;
};

/// What a rank sends; every rank can tell.
std::vector<given> drawn(std::uint32_t seed, int from) {
    std::mt19937 shared(seed);
    const auto most = shared() % static_cast<unsigned>(ranks + 2);
    std::mt19937 own(seed * 1000 + static_cast<std::uint32_t>(from));
    std::vector<given> all(most == 0 ? 0 : own() % (most + 1));
    for (given& g : all) {
        g.to = static_cast<int>(own() % static_cast<unsigned>(ranks));
        const unsigned sizes[]{0, 1, 8, 100, 5000, 100000};
        g.data.resize(sizes[own() % 6]);
        for (std::byte& b : g.data) b = static_cast<std::byte>(own());
    }
    return all;
}

void check_case(mpi::communicator& world, std::uint32_t seed) {
    const std::vector<given> mine = drawn(seed, me);
    std::vector<mpi::sparse_send> sends;
    for (const given& g : mine) sends.push_back({g.to, g.data});
    std::mt19937 own(seed + static_cast<std::uint32_t>(me) * 77);
    if (own() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own() % 2000));
    const auto how = static_cast<mpi::sparse_way>(seed % 4);
    const std::vector<mpi::sparse_receipt> got = world.exchange_sparse(sends, how);
    std::size_t at = 0;
    for (int from = 0; from < ranks; ++from)
        for (const given& g : drawn(seed, from)) {
            if (g.to != me) continue;
            if (at == got.size() || got[at].from != from || got[at].data != g.data)
                testing::fail(fmt::format("case {}, way {}: receipt {} of {} is not from rank {} with {} bytes", seed,
                                          static_cast<int>(how), at, got.size(), from, g.data.size()));
            ++at;
        }
    if (at != got.size()) testing::fail(fmt::format("case {}: {} receipts instead of {}", seed, got.size(), at));
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::int64_t cases = 200;
    if (argc == 3 && std::string(argv[1]) == "--cases") cases = parse_integer(argv[2], "number", 1, 1 << 20);
    try {
        mpi::communicator world(MPI_COMM_WORLD);
        for (std::int64_t i = 1; i <= cases; ++i) check_case(world, static_cast<std::uint32_t>(i));
        // A rank that gives a wrong argument takes part in the exchange all the same.
        const std::byte one{1};
        if (me == 0)
            testing::refusal("a rank that there is not", [&] {
                const mpi::sparse_send wrong{ranks, {&one, 1}};
                (void)world.exchange_sparse({&wrong, 1});
            });
        else
            (void)world.exchange_sparse({});
        check_case(world, 4711);
    } catch (const std::exception& e) {
        testing::fail(e.what());
    }
    if (me == 0) fmt::print("{} ranks: {} sparse exchanges are right\n", ranks, cases);
    MPI_Finalize();
    return 0;
}
