// Ranks in another order: the same processes, in an order with less congestion, and one error for all.
//
//   mpirun -n P reorder
//
// Exits with 1 and the first difference if there is one.
#include "rubato/reorder.hpp"
#include "support/mpi_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace {

using namespace rubato;
using rubato::testing::fail;

constexpr std::uint32_t below_a_switch = 2;

/// Where this process is: neighbouring ranks are below different switches, as far as there are several.
std::uint32_t place_of(int rank, int ranks) {
    const int switches = (ranks + 1) / 2;
    return static_cast<std::uint32_t>(rank % switches) * below_a_switch + static_cast<std::uint32_t>(rank / switches);
}

/// The endpoint of each rank of a communicator.
std::vector<int> endpoints(MPI_Comm comm, int mine) {
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    std::vector<int> all(static_cast<std::size_t>(ranks));
    MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, comm);
    return all;
}

/// Messages of a ring that leave their switch.
int leaving(const std::vector<int>& where) {
    int count = 0;
    for (std::size_t i = 0; i < where.size(); ++i) count += where[i] / 2 != where[(i + 1) % where.size()] / 2 ? 1 : 0;
    return count;
}

void check_order(const std::string& traffic) {
    int me = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    mpi::reordering how;
    // Switches with two endpoints and a cable up.
    how.network = fmt::format("fattree:crossbar=3,ports={},oversubscription=1:2,depth=1", 2 * ((ranks + 1) / 2));
    how.traffic = traffic;
    how.endpoint = place_of(me, ranks);
    MPI_Comm better = mpi::reordered(MPI_COMM_WORLD, how);
    int same = 0;
    MPI_Comm_compare(MPI_COMM_WORLD, better, &same);
    if (same == MPI_UNEQUAL) fail("not the same processes");
    const std::vector<int> where = endpoints(better, static_cast<int>(*how.endpoint));
    const int switches = (ranks + 1) / 2;
    if (leaving(where) > (switches > 1 ? switches : 0))
        fail(fmt::format("'{}': {} messages leave their switch, of {} switches", traffic, leaving(where), switches));
    MPI_Comm_free(&better);
}

/// Ranks keep their numbers, and plans take them in the order of the network.
void check_places() {
    int me = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    mpi::reordering how;
    how.network = "crossbar:ports=64";
    how.endpoint = static_cast<std::uint32_t>(me * 5 % ranks == 0 ? 63 - me : me);
    mpi::communicator ours(MPI_COMM_WORLD, {.places = mpi::places_in(MPI_COMM_WORLD, how)});
    const std::vector<int> mine{me, 2 * me, 7};
    for (const char* id : {"allreduce/ring", "allreduce/bine", "allreduce/two_level"}) {
        std::vector<int> sum(3);
        ours.allreduce(id, mine.data(), sum.data(), 3, MPI_INT, MPI_SUM);
        if (sum != std::vector{ranks * (ranks - 1) / 2, ranks * (ranks - 1), 7 * ranks}) fail(id);
    }
    for (int root = 0; root < ranks; ++root) {
        std::vector<int> data = me == root ? std::vector{root, 5} : std::vector{0, 0};
        ours.bcast("bcast/chain", data.data(), 2, MPI_INT, root);
        if (data != std::vector{root, 5}) fail("bcast/chain");
    }
    std::vector<int> all(static_cast<std::size_t>(ranks));
    ours.allgather("allgather/sorted_ring", &me, 1, MPI_INT, all.data(), 1, MPI_INT);
    for (int r = 0; r < ranks; ++r)
        if (all[static_cast<std::size_t>(r)] != r) fail("allgather/sorted_ring");
}

/// All ranks get the error, whoever has caused it.
void check_error(const mpi::reordering& how, std::string_view problem) {
    std::string said;
    try {
        MPI_Comm wrong = mpi::reordered(MPI_COMM_WORLD, how);
        MPI_Comm_free(&wrong);
    } catch (const error& e) {
        said = e.what();
    }
    if (said.find(problem) == std::string::npos) fail(fmt::format("'{}' instead of '{}'", said, problem));
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int me = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check_order("");
    check_order("ring");
    check_order("allgather/ring");
    check_places();
    mpi::reordering how;
    how.network = "crossbar:ports=0";
    check_error(how, "ports");
    how.network = "crossbar:ports=16";
    how.traffic = "allreduce/rings";
    check_error(how, "allreduce/ring");
    how.traffic = "ring";
    if (me == ranks - 1) how.endpoint = 16;
    check_error(how, ranks == 1 ? "endpoint 16" : "rank 0 gives no endpoint");
    // Without endpoints, one host is one endpoint.
    how.endpoint.reset();
    MPI_Comm as_before = mpi::reordered(MPI_COMM_WORLD, how);
    int new_rank = -1;
    MPI_Comm_rank(as_before, &new_rank);
    if (new_rank != me) fail("ranks of one host change their order");
    MPI_Comm_free(&as_before);
    MPI_Finalize();
    return 0;
}
