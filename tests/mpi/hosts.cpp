// Algorithms that use hosts: with the hosts that MPI reports, which must agree with the host names, and with invented
// ones.
//
//   mpirun -n P hosts [--expect H]
//
// Exits with 1 and the first difference if there is one, or if there are not H hosts.
#include "rubato/problem.hpp"

#include "rubato/mpi.hpp"
#include "support/mpi_experiment.hpp"
#include "support/timings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

namespace {

using namespace rubato;
using testing::data;
using testing::experiment;
using testing::fail;
using testing::kind;

std::vector<std::int32_t> seen_hosts(int ranks) {
    constexpr int length = 256;
    std::array<char, length> mine{};
    gethostname(mine.data(), length - 1);
    std::vector<char> all(static_cast<std::size_t>(ranks) * length);
    MPI_Allgather(mine.data(), length, MPI_CHAR, all.data(), length, MPI_CHAR, MPI_COMM_WORLD);
    std::vector<std::string> names;
    for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) names.emplace_back(&all[r * length]);
    return numbered_hosts(names);
}

void check_hosts(const mpi::communicator& ours, std::int64_t expected) {
    const std::vector<std::int32_t> seen = seen_hosts(ours.size());
    if (ours.hosts() != seen)
        testing::fail(
            fmt::format("MPI tells of hosts {}, ranks see {}", fmt::join(ours.hosts(), ","), fmt::join(seen, ",")));
    const std::int64_t count = std::ranges::max(seen) + 1;
    if (expected > 0 && count != expected) testing::fail(fmt::format("{} hosts and not {}", count, expected));
}

/// In a communicator with ranks in another order, hosts follow these.
void check_reversed() {
    int me = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm reversed = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &reversed);
    {
        const mpi::communicator ours(reversed);
        std::vector<std::int32_t> seen = seen_hosts(ours.size());
        std::ranges::reverse(seen);
        if (ours.hosts() != numbered_hosts(seen)) testing::fail("hosts of ranks in reverse order are wrong");
    }
    MPI_Comm_free(&reversed);
}

long check_algorithm(mpi::communicator& ours, const algorithm& a, const kind& k) {
    const int ranks = ours.size();
    const collective_traits& t = traits(a.what);
    std::vector<std::vector<std::int32_t>> hosts{{}};  // the hosts that MPI reports
    for (const std::string& said : hosts_to_try(ranks)) hosts.push_back(parse_hosts(said, ranks));
    long checked = 0;
    for (const int root : t.rooted ? std::vector{0, ranks / 2, ranks - 1} : std::vector{0}) {
        const auto timings = testing::timings(a, ranks, root);
        for (const std::int64_t count : {1, 1003}) {
            const experiment e(MPI_COMM_WORLD, a.what, k, t.reduces ? MPI_SUM : MPI_OP_NULL, count, root,
                               root % 2 == 1);
            const data want = e.native();
            for (std::size_t i = 0; i < hosts.size(); ++i) {
                const auto& when = timings[(static_cast<std::size_t>(root) + i * 5) % timings.size()];
                mpi::selection how(a);
                how.segments = count == 1 ? 1 : 5;
                how.arrivals = when.arrivals;
                how.round_time = when.round_time;
                how.hosts = hosts[i];
                experiment::made m = e.call();
                ours.run(how, m.c);
                const data got = e.result(m);
                ++checked;
                if (!e.promises_nothing_here() && !(got == want))
                    testing::fail(fmt::format("{} of {} (root {}, hosts {}, arrivals {}): {}", a.id, count, root,
                                              fmt::join(how.hosts, ","), when.pattern, got.difference(want)));
            }
        }
    }
    return checked;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int me = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    long checked = 0;
    std::int32_t hosts = 0;
    try {
        mpi::communicator ours(MPI_COMM_WORLD);
        const bool told = argc > 2 && std::string(argv[1]) == "--expect";
        check_hosts(ours, told ? parse_integer(argv[2], "number of hosts", 1, ours.size()) : 0);
        check_reversed();
        hosts = std::ranges::max(ours.hosts()) + 1;
        const std::vector<kind> kinds = testing::kinds();
        for (const algorithm& a : algorithms())
            if (a.host_aware && !traits(a.what).on_graph) checked += check_algorithm(ours, a, kinds.front());
    } catch (const std::exception& e) {
        testing::fail(e.what());
    }
    if (me == 0) fmt::print("{} hosts: {} collectives equal the native ones\n", hosts, checked);
    MPI_Finalize();
    return checked > 0 ? 0 : 1;
}
