// Calls without an algorithm. Given a model of the network, all ranks choose the same algorithm, by given arrivals or
// by arrivals that they agreed on, and results are right.
//
//   mpirun -n P choose
#include "support/mpi_experiment.hpp"

#include <rubato/choose.hpp>

#include <chrono>
#include <set>
#include <thread>

namespace {

using namespace rubato;
using namespace std::chrono_literals;
using testing::experiment;
using testing::fail;

constexpr std::string_view slow = "loggp:L=10us,o=5us,g=5us,G=100ns,combine=1ns,rendezvous=64KiB";

int me = 0;
int ranks = 1;

/// The algorithm of the last collective; it must be the same on all ranks.
std::string_view used(const mpi::communicator& ours) {
    const algorithm* a = ours.last_used();
    std::int64_t both[2]{a - algorithms().data(), -(a - algorithms().data())};
    MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    if (both[0] != -both[1]) testing::fail(fmt::format("{} is chosen here, and something else on another rank", a->id));
    return a->id;
}

std::vector<time_ns> one_late(int who, time_ns late) {
    std::vector<time_ns> all(static_cast<std::size_t>(ranks));
    all[static_cast<std::size_t>(who)] = late;
    return all;
}

/// Calls each collective once. Returns the algorithms that were chosen.
std::set<std::string_view> call_all(mpi::communicator& ours, const std::vector<time_ns>& arrivals, int count) {
    std::set<std::string_view> chosen;
    const testing::kind doubles = testing::plain<double>("double", MPI_DOUBLE);
    for (const collective_traits& t : collectives()) {
        if (t.on_graph) continue;
        const experiment e(MPI_COMM_WORLD, t.what, doubles, t.reduces ? MPI_SUM : MPI_OP_NULL, count, ranks - 1, false);
        const auto want = e.native();
        experiment::made m = e.call();
        mpi::selection how;
        how.arrivals = arrivals;
        if (t.rooted) ours.expect(how, m.c);
        ours.run(how, m.c);
        if (!e.promises_nothing_here() && !(e.result(m) == want))
            testing::fail(fmt::format("{}: {}", ours.last_used()->id, e.result(m).difference(want)));
        chosen.insert(used(ours));
    }
    return chosen;
}

void check_given() {
    mpi::communicator ours(MPI_COMM_WORLD);
    const auto by_size = call_all(ours, {}, 10000);
    // Rank 0's model counts.
    ours.use_model(parse_model(me == 0 ? slow : "hockney:alpha=1s,beta=0,gamma=0"));
    const auto together = call_all(ours, {}, 10000);
    const auto late = call_all(ours, one_late(ranks / 2, 1s), 10000);
    if (ranks > 3 && together == by_size) testing::fail("a model changes nothing");
    if (ranks > 3 && late == together) testing::fail("a late rank changes nothing");
    call_all(ours, {}, 0);
    call_all(ours, one_late(0, 30us), 17);

    // The communicator chooses what the library chooses without MPI.
    std::vector<double> in(10000, 1.0);
    std::vector<double> out(in.size());
    mpi::selection how;
    how.arrivals = one_late(ranks / 2, 1s);
    ours.reduce(how, in.data(), out.data(), 10000, MPI_DOUBLE, MPI_SUM, 0);
    problem p;
    p.what = collective::reduce;
    p.ranks = ranks;
    p.arrivals = how.arrivals;
    chooser with_early(parse_model(slow), true);
    chooser without(parse_model(slow), false);
    problem q = p;
    if (used(ours) != with_early.best(p, 80000)->id && used(ours) != without.best(q, 80000)->id)
        testing::fail("a communicator chooses something else than the library");

    // All ranks share a host here.
    ours.use_model(parse_model(slow), parse_model("loggp:L=1us,o=1us,g=1us,G=0.1ns,combine=0.1ns"));
    call_all(ours, {}, 1000);
}

/// A rank that is always late makes all ranks choose another reduction.
void check_predicted() {
    mpi::settings how;
    how.exchange_every = 1;
    mpi::communicator ours(MPI_COMM_WORLD, how);
    ours.use_model(parse_model(slow));
    std::vector<double> in(4000, 1.0);
    std::vector<double> out(in.size());
    std::set<std::string_view> chosen;
    const int most_calls = ranks > 3 ? 40 : 6;  // few ranks have nothing to choose
    for (int i = 1; i <= most_calls && chosen.size() < 2; ++i) {
        if (me == ranks - 1) std::this_thread::sleep_for(i * 5ms);
        ours.reduce({}, in.data(), out.data(), 4000, MPI_DOUBLE, MPI_SUM, 0);
        if (me == 0 && out.front() != ranks) testing::fail("a reduction is wrong");
        chosen.insert(used(ours));
        if (i > 3 && ours.planned_by().empty()) testing::fail("ranks do not exchange arrivals");
    }
    if (ranks > 3 && chosen.size() < 2) testing::fail("nobody minds that a rank is late");
}

/// Rules go before a model; rank 0's count.
void check_rules() {
    mpi::communicator ours(MPI_COMM_WORLD);
    ours.use_model(parse_model(slow));
    constexpr std::string_view late_ranks =
        "model hockney:alpha=10us,beta=1ns,gamma=0\n"
        "reduce 1 1000 any reduce/ring\n"
        "reduce 1 1000 0 reduce/linear\n"
        "reduce 1 1000 100ms reduce/clairvoyant 4000\n";
    ours.use_rules(rules::parse(me == 0 ? late_ranks : "reduce 1 0 any reduce/binomial\n", "rules"));
    std::vector<double> in(4000, 1.0);
    std::vector<double> out(in.size());
    const auto use_of = [&](const std::vector<time_ns>& arrivals, int count) {
        mpi::selection how;
        how.arrivals = arrivals;
        ours.reduce(how, in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, 0);
        if (me == 0 && out.front() != ranks) testing::fail("a reduction by rules is wrong");
        return used(ours);
    };
    if (use_of(one_late(ranks - 1, 1s), 4000) != "reduce/clairvoyant" && ranks > 1)
        testing::fail("no rule for a late rank");
    if (use_of(one_late(0, 0s), 4000) != "reduce/linear") testing::fail("no rule for ranks that arrive together");
    const std::string_view small = use_of(one_late(0, 0s), 10);
    ours.use_rules({});
    if (use_of(one_late(0, 0s), 10) != small) testing::fail("a rule for a size that has none");
    call_all(ours, {}, 100);
}

}  // namespace

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check_given();
    check_predicted();
    check_rules();
    MPI_Finalize();
    if (me == 0) fmt::print("{} ranks choose alike\n", ranks);
}
