// The engine against Open MPI's own code for the same algorithm: how much does running a schedule cost?
//
//   OMPI_MCA_coll_tuned_use_dynamic_rules=1 mpirun -n 8 native_comparison [--seconds S] [--filter TEXT]
//
// Open MPI's algorithm is forced through MPI_T on a communicator made for it. Each repetition runs both, in random
// order, after a double barrier; a sample is the last exit minus the first arrival. All ranks are on one host, so
// MPI_Wtime is one clock.
#include "base/statistics/statistics.hpp"
#include "command/experiments/control_variable.hpp"
#include "rubato/mpi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace rubato;

int me = 0;
int ranks = 1;

struct pair {
    const char* id;
    int forced;  // the number of the same algorithm in coll/tuned
    const char* forced_name;
};
constexpr pair pairs[] = {
    {"reduce/binomial", 5, "binomial"},
    {"reduce/chain", 3, "pipeline"},
    {"reduce/butterfly", 7, "rabenseifner"},
    {"bcast/binomial", 6, "binomial"},
    {"bcast/chain", 3, "pipeline"},
    {"bcast/scatter_ring", 9, "scatter_allgather_ring"},
    {"allreduce/recursive_doubling", 3, "recursive_doubling"},
    {"allreduce/ring", 4, "ring"},
    {"allreduce/segmented_ring", 5, "segmented_ring"},
    {"allreduce/rabenseifner", 6, "rabenseifner"},
};

double sample(MPI_Comm comm, const std::function<void()>& f) {
    MPI_Barrier(comm);
    MPI_Barrier(comm);
    double ends[2];
    ends[0] = -MPI_Wtime();
    f();
    ends[1] = MPI_Wtime();
    double extremes[2];
    MPI_Allreduce(ends, extremes, 2, MPI_DOUBLE, MPI_MAX, comm);  // minus the first arrival, the last exit
    return extremes[1] + extremes[0];
}

void compare(mpi::communicator& ours, const pair& p, std::int64_t bytes, std::int64_t segment, double seconds) {
    const algorithm& a = find_algorithm(p.id);
    const std::string name(traits(a.what).name);
    MPI_Comm forced =
        forced_communicator(name, p.forced, a.segmented ? std::optional(static_cast<int>(segment)) : std::nullopt);

    const std::int64_t n = bytes / 8;
    std::vector<double> in(static_cast<std::size_t>(n), me + 1.);
    std::vector<double> out(static_cast<std::size_t>(n));
    std::vector<double> reference(static_cast<std::size_t>(n));
    mpi::call c;
    c.what = a.what;
    c.send = in.data();
    c.recv = out.data();
    c.send_count = c.recv_count = n;
    c.send_type = c.recv_type = MPI_DOUBLE;
    c.op = MPI_SUM;
    mpi::call native = c;
    native.recv = reference.data();
    const collective_traits& t = traits(a.what);
    if (t.one_buffer() && t.has_input(me, c.root)) out = reference = in;
    mpi::selection how(a);
    // Open MPI cuts a ring's blocks, and everything else's vector, into segments of this size.
    if (a.segmented) {
        const std::int64_t cut = a.id == "allreduce/segmented_ring" ? bytes / ranks : bytes;
        how.segments = static_cast<std::uint32_t>(std::max<std::int64_t>(1, (cut + segment - 1) / segment));
    }
    const auto run_ours = [&] { ours.run(how, c); };
    const auto run_native = [&] { mpi::run_native(forced, native); };

    std::vector<double> times[2];
    std::mt19937 random(7);  // the same on all ranks
    for (int i = 0; i < 3; ++i) sample(forced, run_ours), sample(forced, run_native);
    const double begin = MPI_Wtime();
    for (int go = 1; go != 0;) {
        const bool ours_first = random() % 2 == 0;
        for (const bool mine : {ours_first, !ours_first})
            times[mine ? 0 : 1].push_back(mine ? sample(forced, run_ours) : sample(forced, run_native));
        go = times[0].size() < 20 || (MPI_Wtime() - begin < seconds && times[0].size() < 5000) ? 1 : 0;
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    int wrong = t.has_output(me, c.root) && out != reference ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_free(&forced);
    if (me != 0) return;
    const base::estimate ratio = base::compare_medians(times[0], times[1]).ratio;
    fmt::print("| {} | {} | {} | {} | {:.1f} | {:.1f} | {:.2f} | {:.2f}-{:.2f} | {}{} |\n", p.id, p.forced_name,
               format_bytes(bytes), how.segments, base::median(times[1]) * 1e6, base::median(times[0]) * 1e6,
               ratio.value, ratio.low, ratio.high, times[0].size(), wrong != 0 ? " WRONG RESULT" : "");
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int provided = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double seconds = 2;
    std::string filter;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::stod(argv[i + 1]);
        if (std::strcmp(argv[i], "--filter") == 0) filter = argv[i + 1];
    }
    try {
        check_algorithms_can_be_forced();
        mpi::communicator ours(MPI_COMM_WORLD);
        if (me == 0)
            fmt::print(
                "| rubato | Open MPI | bytes | segments | Open MPI, us | rubato, us | ratio | 95 % | samples |\n"
                "|---|---|---|---|---|---|---|---|---|\n");
        for (const pair& p : pairs)
            for (const std::int64_t bytes : {1 << 10, 64 << 10, 4 << 20})
                if (std::string(p.id).find(filter) != std::string::npos) compare(ours, p, bytes, 32 << 10, seconds);
    } catch (const std::exception& e) {
        fmt::print(stderr, "native_comparison: {}\n", e.what());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_T_finalize();
    MPI_Finalize();
}
