// Every registered algorithm against the MPI library's own collective: same bytes in the whole buffer, gaps included.
//
//   mpirun -n P conformance [--filter TEXT] [--sample K] [--sample-large K]
//
// With --sample K only every K-th case is tried, another K-th for each rank count. --sample-large K does that for cases
// with a million elements.
// Exits with 1 and the first difference if there is one.
#include "rubato/mpi.hpp"

#include "support/mpi_experiment.hpp"
#include "support/timings.hpp"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace rubato;
using testing::data;
using testing::experiment;
using testing::fail;
using testing::kind;
using testing::refusal;

int me = 0;
int ranks = 1;
long checked = 0;

void check_all(mpi::communicator& ours, const std::string& filter, std::int64_t sample, std::int64_t sample_large) {
    constexpr std::int64_t large = 1000003;
    std::int64_t cases = ranks;
    const std::vector<kind> all = testing::kinds();
    std::mt19937 random(42);  // the same on all ranks
    std::mt19937 own(static_cast<unsigned>(me));
    for (const collective_traits& t : collectives()) {
        if (t.on_graph) continue;  // see neighbours.cpp
        std::vector<const algorithm*> candidates;
        for (const algorithm& a : algorithms())
            if (a.what == t.what && a.id.find(filter) != std::string_view::npos) candidates.push_back(&a);
        if (candidates.empty()) continue;
        for (const kind& k : all) {
            std::vector<MPI_Op> ops{MPI_OP_NULL};
            if (t.reduces) ops = k.ops;
            for (const MPI_Op op : ops) {
                for (std::int64_t count : std::vector<std::int64_t>{0, 1, ranks - 1, ranks + 1, 1000, large}) {
                    const bool is_large = count == large;
                    if (is_large && (t.chunked())) count /= ranks;  // in all
                    std::vector<int> roots{0};
                    if (t.rooted) roots = is_large ? std::vector{ranks / 2} : std::vector{0, ranks / 2, ranks - 1};
                    for (const int root : roots) {
                        for (const bool in_place : {false, true}) {
                            const experiment e(MPI_COMM_WORLD, t.what, k, op, count, root, in_place);
                            if (!e.makes_sense()) continue;
                            std::optional<data> want;
                            for (const algorithm* a : candidates) {
                                if (++cases % (is_large ? sample_large : sample) != 0) continue;
                                mpi::selection how(*a);
                                if (a->segmented)
                                    how.segments = count > 100 ? 7 : 1 + static_cast<unsigned>(random() % 3);
                                problem p;
                                p.what = t.what;
                                p.ranks = ranks;
                                p.commutative = op == MPI_OP_NULL || op == MPI_SUM || op == MPI_MAX;
                                p.idempotent = op == MPI_MAX;
                                if (unmet_need(*a, p)) continue;
                                const auto timings = testing::timings(*a, ranks, root);
                                const auto& when = timings[static_cast<std::size_t>(cases) % timings.size()];
                                how.arrivals = when.arrivals;
                                how.round_time = when.round_time;
                                how.hosts = when.hosts;
                                if (random() % 8 == 0 && own() % 3 == 0)
                                    std::this_thread::sleep_for(std::chrono::microseconds(own() % 500));
                                if (!want) want = e.native();
                                experiment::made m = e.call();
                                ours.run(how, m.c);
                                const data got = e.result(m);
                                ++checked;
                                if (!e.promises_nothing_here() && !(got == *want))
                                    testing::fail(
                                        fmt::format("{} of {} {} (root {}, in place {}, {} segments, arrivals {}): {}",
                                                    a->id, count, k.name, root, in_place, how.segments, when.pattern,
                                                    got.difference(*want)));
                            }
                        }
                    }
                }
            }
        }
    }
}

/// One signature, another type map on the root; and a type whose elements are permuted in memory.
void check_type_maps(mpi::communicator& ours, const std::string& filter) {
    constexpr int n = 60;
    MPI_Datatype spread = MPI_DATATYPE_NULL;
    MPI_Type_vector(n, 1, 3, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    const int places[2] = {1, 0};
    MPI_Datatype swapped = MPI_DATATYPE_NULL;
    MPI_Type_create_indexed_block(2, 1, places, MPI_INT, &swapped);
    MPI_Type_commit(&swapped);
    for (const algorithm& a : algorithms()) {
        if (a.what != collective::bcast || a.id.find(filter) == std::string_view::npos) continue;
        for (int root = 0; root < ranks; ++root) {
            mpi::selection how(a);
            how.segments = a.segmented ? 7 : 1;
            std::vector<int> buffer(std::size_t{3} * n, -1);
            const bool at_root = me == root;
            const bool uses_swapped = !at_root && me % 2 == 0;
            if (at_root)
                for (int i = 0; i < n; ++i) buffer[3 * static_cast<std::size_t>(i)] = i;
            if (at_root)
                ours.bcast(how, buffer.data(), 1, spread, root);
            else if (uses_swapped)
                ours.bcast(how, buffer.data(), n / 2, swapped, root);
            else
                ours.bcast(how, buffer.data(), n, MPI_INT, root);
            ++checked;
            for (int i = 0; i < n; ++i) {
                const int place = at_root ? 3 * i : uses_swapped ? (i ^ 1) : i;
                if (buffer[static_cast<std::size_t>(place)] != i)
                    testing::fail(fmt::format("{} with different type maps, root {}: item {} is {}", a.id, root, i,
                                              buffer[static_cast<std::size_t>(place)]));
            }
        }
    }
    MPI_Type_free(&spread);
    MPI_Type_free(&swapped);
}

/// Elements of size 0; a pending receive of the user's that would match any message to itself; a Fortran type.
void check_odd_types(mpi::communicator& ours) {
    MPI_Datatype empty = MPI_DATATYPE_NULL;
    MPI_Type_vector(0, 1, 1, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    int x = 5;
    ours.bcast("bcast/binomial", &x, 3, empty, 0);
    ours.gather("gather/linear", &x, 2, empty, &x, 2, empty, 0);
    MPI_Type_free(&empty);

    int taken = 0;
    MPI_Request any = MPI_REQUEST_NULL;
    MPI_Irecv(&taken, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &any);
    MPI_Datatype gap = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_INT, 0, 8, &gap);
    MPI_Type_commit(&gap);
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(
        [](void* a, void* b, int* n, MPI_Datatype*) {
            for (std::ptrdiff_t i = 0; i < *n; ++i) static_cast<int*>(b)[2 * i] += static_cast<int*>(a)[2 * i];
        },
        1, &op);
    const int in[4] = {1, -1, 2, -1};
    int out[4] = {0, -2, 0, -2};
    ours.scan("scan/recursive_doubling", in, out, 2, gap, op);
    if (out[0] != me + 1 || out[1] != -2 || out[2] != 2 * (me + 1))
        testing::fail("a scan beside a greedy receive is wrong");
    MPI_Op_free(&op);
    MPI_Type_free(&gap);
    MPI_Send(&x, 1, MPI_INT, 0, 3, MPI_COMM_SELF);
    MPI_Wait(&any, MPI_STATUS_IGNORE);
    if (taken != 5) testing::fail("a message of ours was taken by the user's receive");

    MPI_Datatype real = MPI_DATATYPE_NULL;
    if (MPI_Type_create_f90_real(6, MPI_UNDEFINED, &real) == MPI_SUCCESS) {
        MPI_Datatype two = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(2, real, &two);
        MPI_Type_commit(&two);
        float y[2] = {static_cast<float>(me), 1};
        ours.bcast("bcast/binomial", y, 1, two, 0);
        if (y[0] != 0) testing::fail("a broadcast of a Fortran type is wrong");
        MPI_Type_free(&two);
    }
    checked += 4;
}

/// All of a vector for one rank, and nothing for anybody.
void check_one_chunk(mpi::communicator& ours) {
    for (const algorithm& a : algorithms()) {
        if (a.what != collective::reduce_scatter) continue;
        for (int owner = 0; owner <= ranks; ++owner) {
            std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks));
            if (owner < ranks) counts[static_cast<std::size_t>(owner)] = 5;
            for (const bool in_place : {false, true}) {
                std::vector<int> sent{me, 1, 2, 3, 4};
                std::vector<int> got(5, -1);
                ours.reduce_scatter(a, in_place ? MPI_IN_PLACE : sent.data(), in_place ? sent.data() : got.data(),
                                    counts, MPI_INT, MPI_SUM);
                const std::vector<int> sum{ranks * (ranks - 1) / 2, ranks, 2 * ranks, 3 * ranks, 4 * ranks};
                const std::vector<int> before = in_place ? std::vector{me, 1, 2, 3, 4} : std::vector(5, -1);
                if ((in_place ? sent : got) != (me == owner ? sum : before))
                    testing::fail(
                        fmt::format("{} with a chunk for rank {} alone, in place {}, is wrong", a.id, owner, in_place));
                ++checked;
            }
        }
    }
    testing::refusal("too few counts", [&] {
        int x = 0;
        ours.reduce_scatter("reduce_scatter/halving", &x, &x, {}, MPI_INT, MPI_SUM);
    });
}

/// Wrong calls are refused, on all ranks alike, and the communicator can be used afterwards.
void check_errors(mpi::communicator& ours) {
    int x = 1;
    int y = 0;
    testing::refusal("a root outside", [&] { ours.bcast("bcast/binomial", &x, 1, MPI_INT, ranks); });
    testing::refusal("a negative count", [&] { ours.bcast("bcast/binomial", &x, -1, MPI_INT, 0); });
    testing::refusal("an unknown algorithm", [&] { ours.bcast("bcast/nothing", &x, 1, MPI_INT, 0); });
    testing::refusal("no datatype", [&] { ours.bcast("bcast/binomial", &x, 1, MPI_DATATYPE_NULL, 0); });
    testing::refusal("no operator", [&] { ours.allreduce("allreduce/ring", &x, &y, 1, MPI_INT, MPI_OP_NULL); });
    testing::refusal("an algorithm of another collective",
                     [&] { ours.allreduce("bcast/binomial", &x, &y, 1, MPI_INT, MPI_SUM); });
    ours.reduce("reduce/binomial", &x, &y, 1, MPI_INT, MPI_SUM, 0);
    if (me == 0 && y != ranks) testing::fail("a reduction after refused calls is wrong");

    // Refused by the root alone: what the others sent for that call must not turn up in the next one.
    mpi::communicator other(MPI_COMM_WORLD);
    const std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks), 1);
    std::vector<std::int64_t> places;
    for (int r = 0; r < ranks; ++r) places.push_back(r);
    std::vector<int> all(static_cast<std::size_t>(ranks));
    const int stale = -1;
    if (me == 0)
        testing::refusal("too few displacements", [&] {
            other.gatherv("gatherv/linear", &stale, 1, MPI_INT, all.data(), {counts, {}}, MPI_INT, 0);
        });
    else
        other.gatherv("gatherv/linear", &stale, 1, MPI_INT, nullptr, {}, MPI_INT, 0);
    other.gatherv("gatherv/linear", &me, 1, MPI_INT, all.data(), {counts, places}, MPI_INT, 0);
    for (int r = 0; me == 0 && r < ranks; ++r)
        if (all[static_cast<std::size_t>(r)] != r) testing::fail("a gather took what was sent for a refused one");
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::string filter;
    std::int64_t sample = 1;
    std::int64_t sample_large = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::string(argv[i]) == "--filter") filter = argv[i + 1];
        if (std::string(argv[i]) == "--sample") sample = parse_integer(argv[i + 1], "step", 1, 1 << 30);
        if (std::string(argv[i]) == "--sample-large") sample_large = parse_integer(argv[i + 1], "step", 1, 1 << 30);
    }
    try {
        mpi::communicator ours(MPI_COMM_WORLD);
        check_all(ours, filter, sample, sample_large);
        check_type_maps(ours, filter);
        check_odd_types(ours);
        check_one_chunk(ours);
        check_errors(ours);
    } catch (const std::exception& e) {
        testing::fail(e.what());
    }
    if (me == 0) fmt::print("{} ranks: {} collectives equal the native ones\n", ranks, checked);
    MPI_Finalize();
    return checked > 0 ? 0 : 1;
}
