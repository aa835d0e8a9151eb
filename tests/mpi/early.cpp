// Arrivals, provoked. A late rank finds that its collective has begun, ranks plan by earlier or announced arrivals, and
// errors in the background reach the rank. Where the time plays a part, of a fixed number of calls so many must do as
// is said there.
//
//   mpirun -n P early [--threads multiple|funneled] [--sample N]
//
// --sample N: one in N of the algorithms that begin early.
#include "support/mpi_experiment.hpp"

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>

namespace {

using namespace rubato;
using namespace std::chrono_literals;
using testing::experiment;
using testing::fail;
using testing::kind;
using testing::refusal;

int me = 0;
int ranks = 1;
bool has_thread = true;

std::int64_t total(std::uint64_t n) {
    auto sum = static_cast<std::int64_t>(n);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

mpi::settings exchanging() {
    mpi::settings how;
    how.from_bytes = 0;
    how.exchange_every = 1;
    return how;
}

/// The rank computes until a call of it has begun, but not for ever; without a background thread it calls progress()
/// itself.
void compute_until_begun(mpi::communicator& ours, std::uint64_t at_first) {
    const time_ns until = own_time() + 40ms;
    while (own_time() < until && ours.begun_early() == at_first) {
        if (!has_thread) ours.progress();
        std::this_thread::sleep_for(200us);
    }
}

/// A late rank finds that the collective has begun, because it named the call or because others announced it. Not every
/// rank can begin without what only it knows, so each is late once, and one must have begun.
void check_begun_early(const algorithm& a, const kind& k, bool named) {
    constexpr int count = 500;
    const int root = ranks - 1;
    const experiment e(MPI_COMM_WORLD, a.what, k, traits(a.what).reduces ? MPI_SUM : MPI_OP_NULL, count, root, false);
    const auto want = e.native();
    mpi::communicator ours(MPI_COMM_WORLD, exchanging());
    mpi::selection how(a);
    how.segments = 3;
    std::int64_t times = 0;
    for (int late = 0; late < ranks; ++late) {
        experiment::made m = e.call();
        const std::uint64_t at_first = ours.begun_early();
        if (named) ours.expect(how, m.c);
        if (me == late) compute_until_begun(ours, at_first);
        const std::uint64_t begun = ours.begun_early() - at_first;
        ours.run(how, m.c);
        if (!(e.result(m) == want))
            testing::fail(fmt::format("{}, begun early: {}", a.id, e.result(m).difference(want)));
        times += total(me == late ? begun : 0);
    }
    if (times < 1) testing::fail(fmt::format("{} never begins early{}", a.id, named ? " though it was named" : ""));
}

/// An algorithm without a plan uses the communicator's memory and messages, so no other call may begin meanwhile.
void check_improvised() {
    mpi::communicator ours(MPI_COMM_WORLD);
    std::vector<double> data(20000, 1.0);
    std::vector<double> sum(data.size());
    const auto n = static_cast<std::int64_t>(data.size());
    auto reduce =
        ours.prepare("reduce/local_redirect", mpi::call::reduce(data.data(), sum.data(), n, MPI_DOUBLE, MPI_SUM, 0));
    for (int i = 0; i < 30; ++i) {
        std::ranges::fill(sum, 0.0);
        reduce.start();
        if (me == i % ranks) std::this_thread::sleep_for(1ms);
        while (!reduce.test()) std::this_thread::sleep_for(100us);
        if (me == 0 && std::ranges::any_of(sum, [](double x) { return x != ranks; }))
            testing::fail("a reduction is wrong");
        std::vector<double> spread(data.size(), me == 0 ? i : -1.0);
        ours.bcast("bcast/linear+early", spread.data(), n, MPI_DOUBLE, 0);
        if (std::ranges::any_of(spread, [i](double x) { return x != i; })) testing::fail("a broadcast is wrong");
    }
}

/// What is left to Rubato is cut into segments where it is large.
void check_segments() {
    mpi::communicator ours(MPI_COMM_WORLD);
    ours.record_steps();
    std::vector<char> data(std::size_t{8} << 20);
    ours.bcast({}, data.data(), static_cast<std::int64_t>(data.size()), MPI_CHAR, 0);
    if (ours.size() > 1 && ours.recorded_steps().size() < 100)
        testing::fail("a large broadcast is not cut into segments");
}

/// The last rank in planned_by, which must be the same on all ranks.
int predicted_last(const mpi::communicator& ours) {
    const std::vector<time_ns> by = ours.planned_by();
    if (by.empty()) return -1;
    std::vector<std::int64_t> both;
    for (const time_ns t : by) both.push_back(t.count());
    for (const time_ns t : by) both.push_back(-t.count());
    MPI_Allreduce(MPI_IN_PLACE, both.data(), static_cast<int>(both.size()), MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    for (std::size_t r = 0; r < by.size(); ++r)
        if (both[r] != -both[r + by.size()]) testing::fail("ranks have planned by different arrivals");
    return static_cast<int>(std::ranges::max_element(by) - by.begin());
}

void gather(mpi::communicator& ours, const mpi::selection& how = "gather/sorted_linear_sync+early") {
    std::vector<int> all(static_cast<std::size_t>(ranks));
    ours.gather(how, &me, 1, MPI_INT, all.data(), 1, MPI_INT, 0);
    for (int r = 0; me == 0 && r < ranks; ++r)
        if (all[static_cast<std::size_t>(r)] != r) testing::fail("a gather is wrong");
}

/// A rank that is always late is predicted late, in 10 of 15 calls at least. A rank that announces its delay is
/// predicted late at once, in 20 of 28. Others may be late by chance.
void check_predictions() {
    mpi::communicator ours(MPI_COMM_WORLD, exchanging());
    int right = 0;
    for (int i = 0; i < 20; ++i) {
        if (me == ranks / 2) std::this_thread::sleep_for(10ms);
        gather(ours);
        const int last = predicted_last(ours);
        if (i < 2 && last >= 0) testing::fail("a plan by arrivals before they can be known");
        if (i > 2 && last < 0) testing::fail("ranks exchange arrivals, and plan by none");
        right += i >= 5 && last == ranks / 2;
    }
    if (right < 10) testing::fail(fmt::format("a rank that is always late is expected to be in {} calls of 15", right));

    std::mt19937 random(7);  // the same on all ranks
    const auto say_when = [&](time_ns half, double done) {
        ours.processing_start();
        std::this_thread::sleep_for(half);
        ours.edge(done);
        std::this_thread::sleep_for(half);
        ours.processing_end();
        gather(ours);
        return predicted_last(ours);
    };
    right = 0;
    for (int i = 0; i < 30; ++i) {
        const int late = static_cast<int>(random() % static_cast<unsigned>(ranks));
        const int last = say_when(me == late ? 10ms : 50us, 0.5);
        if (i >= 2) right += last == late;
    }
    if (right < 20)
        testing::fail(fmt::format("of 28 ranks that said they would be late, {} were expected to be", right));
    // One rank announces a delay of years.
    for (int late = 0; late < ranks; ++late)
        if (say_when(10us, me == late ? 1e-300 : 0.5) != late)
            testing::fail("a rank that will be very late is not expected to be");
}

/// An error between start and wait, in any thread, reaches the rank when it waits.
void check_trouble() {
    mpi::communicator ours(MPI_COMM_WORLD, exchanging());
    const auto say_when = [&] {
        ours.processing_start();
        ours.edge(0.5);
        ours.processing_end();
    };
    int x = 1;
    int sum = 0;
    for (int i = 0; i < 8; ++i) {
        say_when();
        if (i == 4) testing::refusal("a negative count", [&] { ours.bcast("bcast/linear", &x, -1, MPI_INT, 0); });
        gather(ours);
    }
    mpi::selection how("reduce/clairvoyant");
    for (int r = 0; r < ranks; ++r) how.arrivals.emplace_back(r);  // but no time of a round
    mpi::persistent_call refused = ours.prepare(how, mpi::call::reduce(&x, &sum, 1, MPI_INT, MPI_SUM, 0));
    if (me != 0) std::this_thread::sleep_for(20ms);
    const std::string said = testing::refusal("a plan without a round time", [&] {
        refused.start();
        std::this_thread::sleep_for(20ms);
        refused.wait();
    });
    if (said.find("reduce/clairvoyant cannot be used here") == std::string::npos) testing::fail(said);
    if (!refused.test()) testing::fail("a refused call is under way");
    gather(ours);

    // A call that is under way may be moved.
    std::vector<mpi::persistent_call> calls;
    calls.push_back(ours.prepare("reduce/binomial+early", mpi::call::reduce(&x, &sum, 1, MPI_INT, MPI_SUM, 0)));
    calls.front().expect();
    calls.front().start();
    calls.push_back(ours.prepare("barrier/tree", mpi::call::barrier()));
    calls.front().wait();
    if (me == 0 && sum != ranks) testing::fail("a call that was moved is wrong");
}

/// Two communicators use an early algorithm; without a thread all ranks together print one warning.
void check_one_warning() {
    std::fflush(stderr);
    const int kept = dup(2);
    std::FILE* file = std::tmpfile();
    dup2(fileno(file), 2);
    for (int i = 0; i < 2; ++i) {
        mpi::communicator ours(MPI_COMM_WORLD);
        int x = me;
        ours.bcast("bcast/chain+early", &x, 1, MPI_INT, 0);
    }
    std::fflush(stderr);
    dup2(kept, 2);
    close(kept);
    std::string text(1 << 16, '\0');
    std::rewind(file);
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    std::uint64_t lines = 0;
    for (std::size_t at = text.find("rubato: "); at != std::string::npos; at = text.find("rubato: ", at + 1)) ++lines;
    const std::int64_t all = total(lines);
    const char* background = std::getenv("RUBATO_BACKGROUND");
    const bool wanted = !has_thread && background != nullptr && background == std::string("on");
    if (all != (wanted ? 1 : 0)) testing::fail(fmt::format("{} warnings: {}", all, text));
}

}  // namespace

int main(int argc, char** argv) {
    bool funneled = false;
    std::int64_t sample = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        if (option == "--threads") funneled = argv[i + 1] == std::string("funneled");
        if (option == "--sample") sample = parse_integer(argv[i + 1], "sample", 1, 1 << 20);
    }
    int level = 0;
    MPI_Init_thread(&argc, &argv, funneled ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char* background = std::getenv("RUBATO_BACKGROUND");
    has_thread = !funneled && (background == nullptr || background != std::string("off"));
    int tried = 0;
    try {
        check_one_warning();
        const std::vector<kind> kinds = testing::kinds();
        std::int64_t turn = 0;
        for (const algorithm& a : algorithms()) {
            if (!a.early || turn++ % sample != 0) continue;
            for (const bool named : {true, false}) check_begun_early(a, kinds.front(), named), ++tried;
        }
        check_segments();
        check_improvised();
        check_predictions();
        check_trouble();
    } catch (const std::exception& e) {
        testing::fail(e.what());
    }
    if (me == 0) fmt::print("{} ranks: {} ways to begin early, each seen\n", ranks, tried);
    MPI_Finalize();
    return tried > 0 ? 0 : 1;
}
