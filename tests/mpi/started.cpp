// mpirun -n P started [--thread]: calls that are started and not waited for at once, in orders that would wait forever
// if a wait for one call did not go on with the others. With --thread also the background thread goes on.
#include "rubato/mpi.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace {

using namespace rubato;
using namespace std::chrono_literals;

constexpr std::int64_t elements = 50000;

int me = 0;
int ranks = 1;
mpi::settings how{};

void fail(std::string_view what) {
    fmt::print(stderr, "started: rank {}: {}\n", me, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

struct sum {
    std::vector<double> in = std::vector<double>(elements, me + 1);
    std::vector<double> out = std::vector<double>(elements);

    mpi::call call(MPI_Op op = MPI_SUM) {
        return mpi::call::allreduce(in.data(), out.data(), elements, MPI_DOUBLE, op);
    }
    void check() const {
        for (const double x : out)
            if (2 * x != ranks * (ranks + 1)) fail("a wrong sum");
    }
};

mpi::selection rolled() {
    mpi::selection s("allreduce/straggler");
    s.round_time = 20us;
    s.roll_call = mpi::roll_call_options{.patience = 1ms};
    return s;
}

/// Rank 1 waits for a call on one communicator before it starts one on another, for which rank 0 waits.
void other_communicators() {
    mpi::communicator a(MPI_COMM_WORLD, how);
    mpi::communicator b(MPI_COMM_WORLD, how);
    sum first;
    sum second;
    mpi::request on_b = b.start("allreduce/ring", first.call());
    if (me == 1) on_b.wait();
    std::array<mpi::request, 1> on_a{a.start("allreduce/ring", second.call())};
    if (mpi::wait_any(on_a) != on_a.begin()) fail("another request than the only one");
    on_b.wait();
    first.check();
    second.check();
}

/// Rank 0, which keeps the roll of the second call, starts it when rank 1 has waited for the first.
void roll_of_a_later_call() {
    mpi::communicator ours(MPI_COMM_WORLD, how);
    sum first;
    sum second;
    int nothing = 0;
    mpi::request r1 = ours.start("allreduce/ring", first.call());
    mpi::request r2;
    if (me != 0) r2 = ours.start(rolled(), second.call());
    r1.wait();
    first.check();
    if (me == 1) MPI_Send(&nothing, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (me == 0) {
        if (ranks > 1) MPI_Recv(&nothing, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        r2 = ours.start(rolled(), second.call());
    }
    r2.wait();
    second.check();
}

void plus(void* a, void* b, int* n, MPI_Datatype*) {
    for (int i = 0; i < *n; ++i) static_cast<double*>(b)[i] += static_cast<double*>(a)[i];
}

/// Nobody but the caller may call its operator: it does so while it waits for a roll.
void own_operator() {
    mpi::communicator ours(MPI_COMM_WORLD, how);
    sum first;
    sum second;
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(plus, 1, &op);
    mpi::request r = ours.start("allreduce/ring", first.call(op));
    if (me == 0) r.wait();
    ours.run(rolled(), second.call());
    r.wait();
    MPI_Op_free(&op);
    first.check();
    second.check();
}

/// A persistent call is replaced, and a datatype freed, while they are in use.
void replaced() {
    mpi::communicator ours(MPI_COMM_WORLD, how);
    std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks));
    std::vector<std::int64_t> places(counts.size());
    for (std::size_t r = 0; r < counts.size(); ++r) {
        counts[r] = static_cast<std::int64_t>(r) * 1000;
        places[r] = r == 0 ? 0 : places[r - 1] + counts[r - 1];
    }
    const auto all = static_cast<std::size_t>(places.back() + counts.back());
    std::vector<int> in(all, me);
    std::vector<int> out(2 * all + 1, -1);
    MPI_Datatype spread = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
    MPI_Type_commit(&spread);
    const mpi::call c = mpi::call::allgatherv(in.data(), me * 1000L, MPI_INT, out.data(),
                                              {.counts = counts, .displacements = places}, spread);
    mpi::persistent_call again = ours.prepare("allgatherv/ring", c);
    again.start();
    MPI_Type_free(&spread);
    again = ours.prepare("barrier/dissemination", mpi::call::barrier());
    for (std::size_t r = 0; r < counts.size(); ++r)
        for (std::int64_t i = 0; i < counts[r]; ++i) {
            const auto at = static_cast<std::size_t>(2 * (places[r] + i));
            if (out[at] != static_cast<int>(r) || out[at + 1] != -1) fail("a wrong element");
        }
    again.start();
    again.wait();
}

/// A wrong call between others is counted, and waits for nobody: rank 1 starts the first when rank 0 has made it.
void wrong_call_between() {
    mpi::communicator ours(MPI_COMM_WORLD, how);
    sum first;
    sum second;
    int nothing = 0;
    if (me == 1) MPI_Recv(&nothing, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    mpi::request r1 = ours.start(rolled(), first.call());
    bool refused = false;
    try {
        (void)ours.start("allreduce/ring", mpi::call::allreduce(nullptr, second.out.data(), -1, MPI_DOUBLE, MPI_SUM));
    } catch (const error&) {
        refused = true;
    }
    if (!refused) fail("a negative count is accepted");
    if (me == 0 && ranks > 1) MPI_Send(&nothing, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    mpi::request r2 = ours.start("allreduce/ring", second.call());
    r2.wait();
    r1.wait();
    first.check();
    second.check();
}

}  // namespace

int main(int argc, char** argv) {
    const bool thread = argc > 1 && std::strcmp(argv[1], "--thread") == 0;
    int level = 0;
    MPI_Init_thread(&argc, &argv, thread ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    how.background = thread;
    try {
        for (const auto run : {other_communicators, roll_of_a_later_call, own_operator, replaced, wrong_call_between})
            for (int repetition = 0; repetition < 5; ++repetition) run();
    } catch (const std::exception& e) {
        fail(e.what());
    }
    MPI_Finalize();
    return 0;
}
