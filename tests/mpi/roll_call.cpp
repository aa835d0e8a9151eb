// Roll calls on MPI. Another rank is late at every call, the keeper among them; every algorithm that uses arrivals
// makes them, in random order, beside calls without a roll call. Results must equal the native collective's, all ranks
// must plan by the same arrivals, and freed communicators leave nothing. Wrong calls end in errors on all ranks.
//
//   mpirun -n P roll_call [--rounds N] [--threads multiple|funneled]
#include "engine/mpi/inner_communicator.hpp"
#include "support/mpi_counts.hpp"
#include "support/mpi_experiment.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

namespace {

using namespace rubato;
using namespace std::chrono_literals;
using testing::data;
using testing::experiment;
using testing::fail;
using testing::kind;
using testing::refusal;

int me = 0;
int ranks = 1;
bool has_thread = true;

std::int64_t total(std::int64_t n) {
    MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return n;
}

mpi::selection rolled(const algorithm& a, time_ns patience) {
    mpi::selection how(a);
    if (a.segmented) how.segments = 3;
    if (a.uses_round_time()) how.round_time = 20us;
    how.roll_call = mpi::roll_call_options{patience};
    return how;
}

void check_equal_on_all(const mpi::communicator& ours, std::string_view what) {
    std::uint64_t mix = 1469598103934665603U;
    for (const time_ns t : ours.planned_by()) mix = (mix ^ static_cast<std::uint64_t>(t.count())) * 1099511628211U;
    std::uint64_t both[2] = {mix, ~mix};
    MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    if (both[0] != ~both[1]) testing::fail(fmt::format("{}: ranks have planned by different arrivals", what));
}

struct seen {
    int calls = 0;
    int late = 0;  ///< calls in which the late rank, and it alone, was called late
};

/// One call after the other, without a pause but for the late rank's, which is another one each time.
class program {
public:
    explicit program(std::uint64_t seed) : shared_(seed) {
        for (const algorithm& a : algorithms())
            if (a.arrival_aware && !traits(a.what).on_graph) choice_.push_back(&a);
    }

    void run(int rounds, bool persistent, seen& sum) {
        mpi::settings how;
        how.from_bytes = shared_() % 2 == 0 ? 0 : 4096;
        how.exchange_every = static_cast<std::int32_t>(1 + shared_() % 4);
        how.background = shared_() % 4 != 0;
        mpi::communicator ours(MPI_COMM_WORLD, how);
        for (int i = 0; i < rounds; ++i) {
            std::shuffle(choice_.begin(), choice_.end(), shared_);
            for (const algorithm* a : choice_) one(ours, *a, persistent, sum);
        }
    }

private:
    void one(mpi::communicator& ours, const algorithm& a, bool persistent, seen& sum) {
        const collective_traits& t = traits(a.what);
        const kind& k = kinds_[t.reduces ? shared_() % 2 : shared_() % kinds_.size()];
        const auto root = static_cast<int>(shared_() % static_cast<std::uint64_t>(ranks));
        const auto count = static_cast<std::int64_t>(shared_() % 3 == 0 ? shared_() % 3 : shared_() % 2000);
        const bool in_place = shared_() % 3 == 0 && a.what != collective::alltoallv;
        const int late = static_cast<int>(++turn_ % static_cast<std::uint64_t>(ranks));
        const bool rolls = shared_() % 5 != 0;
        const bool named = shared_() % 6 == 0;
        const time_ns delay = std::chrono::microseconds(shared_() % 3 == 0 ? 0 : 200 + shared_() % 4000);
        const time_ns patience = std::chrono::microseconds(shared_() % 500);
        const experiment e(MPI_COMM_WORLD, a.what, k, t.reduces ? MPI_SUM : MPI_OP_NULL, count, root, in_place);
        const data want = e.native();
        experiment::made m = e.call();
        mpi::selection how = rolled(a, patience);
        if (!rolls) how.roll_call.reset();
        if (named) ours.expect(how, m.c);
        if (me == late) std::this_thread::sleep_for(delay);
        if (persistent) {
            mpi::persistent_call again = ours.prepare(how, m.c);
            again.start();
            while (!again.test()) std::this_thread::yield();
        } else {
            ours.run(how, m.c);
        }
        if (!e.promises_nothing_here() && !(e.result(m) == want))
            testing::fail(
                fmt::format("{} of {} {} with a roll call: {}", a.id, count, k.name, e.result(m).difference(want)));
        if (!rolls) return;
        ++sum.calls;
        const std::vector<time_ns> by = ours.planned_by();
        if (!a.dynamic && by.size() != static_cast<std::size_t>(ranks))
            testing::fail(fmt::format("{}: no arrivals", a.id));
        int so_late = 0;
        for (const time_ns x : by) so_late += x > time_ns{};
        sum.late += so_late == 1 && by[static_cast<std::size_t>(late)] > time_ns{};
        if (shared_() % 4 == 0) check_equal_on_all(ours, a.id);
    }

    std::mt19937_64 shared_;
    std::vector<const algorithm*> choice_{};
    std::vector<kind> kinds_ = testing::kinds();
    std::uint64_t turn_ = 0;
};

/// Whoever is late is called late, and with it nobody else, whether it is the keeper or not: in one call of four at
/// least, as on a busy machine others are late as well.
void check_late_ranks_are_seen() {
    mpi::settings quiet;
    quiet.background = has_thread;
    quiet.from_bytes = 1 << 30;  // nothing is exchanged, so rank 0 keeps the roll
    mpi::communicator ours(MPI_COMM_WORLD, quiet);
    std::vector<double> in(5000, 1.0);
    std::vector<double> out(in.size());
    for (int late = has_thread ? 0 : 1; late < ranks; ++late) {
        int alone = 0;
        for (int i = 0; i < 4; ++i) {
            MPI_Barrier(MPI_COMM_WORLD);
            if (me == late) std::this_thread::sleep_for(100ms);
            ours.allreduce(rolled(find_algorithm("allreduce/clairvoyant"), 10ms), in.data(), out.data(),
                           static_cast<std::int64_t>(in.size()), MPI_DOUBLE, MPI_SUM);
            for (const double x : out)
                if (x != ranks) testing::fail(fmt::format("a sum is {} and not {}", x, ranks));
            const std::vector<time_ns> by = ours.planned_by();
            check_equal_on_all(ours, "allreduce");
            bool right = true;
            for (int r = 0; r < ranks; ++r) right &= (by[static_cast<std::size_t>(r)] > time_ns{}) == (r == late);
            alone += right;
        }
        if (alone < 1) testing::fail(fmt::format("rank {} is seen to be late in no call of 4", late));
    }
}

std::string said_by_run(mpi::communicator& ours, const mpi::selection& how, const mpi::call& c) {
    try {
        ours.run(how, c);
        return "";
    } catch (const error& e) {
        return e.what();
    }
}

void check_wrong_calls() {
    mpi::communicator ours(MPI_COMM_WORLD);
    std::vector<int> in(3000, 1);
    std::vector<int> out(in.size());
    const auto sum = [&](std::int64_t n) { return mpi::call::allreduce(in.data(), out.data(), n, MPI_INT, MPI_SUM); };
    const mpi::selection how = rolled(find_algorithm("allreduce/clairvoyant"), 20s);  // all are there
    for (int odd = 0; odd < ranks; ++odd) {
        // Another length.
        std::string said = said_by_run(ours, how, sum(me == odd ? 2000 : 3000));
        if (said.find("different collectives") == std::string::npos) testing::fail("another length is taken: " + said);
        // Another collective.
        const mpi::selection other = rolled(find_algorithm("barrier/sorted_tree"), 20s);
        said = me == odd ? said_by_run(ours, other, mpi::call::barrier()) : said_by_run(ours, how, sum(3000));
        if (said.find("different collectives") == std::string::npos)
            testing::fail("another collective is taken: " + said);
        // Wrong arguments: everybody learns it, and the rank itself what is wrong.
        said = said_by_run(ours, how, sum(me == odd ? -1 : 3000));
        if (said.find(me == odd ? "count -1" : "another rank refuses") == std::string::npos)
            testing::fail("wrong arguments are taken: " + said);
        // And it goes on.
        ours.run(how, sum(3000));
        if (out.back() != ranks) testing::fail(fmt::format("a sum is {} and not {}", out.back(), ranks));
    }
    // Another root.
    const std::string root_said = said_by_run(ours, rolled(find_algorithm("bcast/sorted_chain"), 20s),
                                              mpi::call::bcast(in.data(), 3000, MPI_INT, me == 1 ? 1 : 0));
    if (root_said.find("different collectives") == std::string::npos)
        testing::fail("another root is taken: " + root_said);
    // What all find alike.
    const auto refused = [&](const mpi::selection& s, const char* why) {
        const std::string said = testing::refusal(why, [&] { ours.run(s, sum(3000)); });
        if (said.find(why) == std::string::npos) testing::fail(fmt::format("'{}' instead of '{}'", said, why));
    };
    mpi::selection s("allreduce/ring");
    s.roll_call.emplace();
    refused(s, "a roll call for allreduce/ring");
    s = mpi::selection();
    s.roll_call.emplace();
    refused(s, "a roll call for an algorithm that Rubato chooses");
    s = how;
    s.round_time = {};
    refused(s, "without a round time");
    s = how;
    s.arrivals.resize(static_cast<std::size_t>(ranks));
    refused(s, "a roll call and arrivals");
    s = how;
    s.roll_call->patience = -1ns;
    refused(s, "a patience of -1 ns");
    ours.run(how, sum(3000));
}

/// As the drop-in does it: the keeper is given.
void check_given_keepers() {
    mpi::communicator ours(MPI_COMM_WORLD);
    engine::inner_communicator looked_at(ours);
    const algorithm& a = find_algorithm("allreduce/clairvoyant");
    std::vector<double> in(4000, 1.0);
    int seen_late = 0;
    for (int i = 0; i < 42; ++i) {
        std::vector<double> out(in.size());
        const rank keeper(i % ranks);
        MPI_Barrier(MPI_COMM_WORLD);
        if (me == (i / ranks + i + 1) % ranks && i % 3 != 0) std::this_thread::sleep_for(3ms);
        const engine::call_facts c(
            mpi::call::allreduce(in.data(), out.data(), static_cast<std::int64_t>(in.size()), MPI_DOUBLE, MPI_SUM), me,
            ranks, {});
        const bool all_wait = i % 14 == 13;  // so that nobody is late, and who refuses is heard
        const bool refuses = all_wait && me == 1;
        const engine::roll_call::order order{&a - algorithms().data(), 4, 20us, 1ms};
        const engine::roll_call::verdict v = looked_at.call_roll(c, keeper, all_wait ? 20s : 300us, order, refuses);
        if (v.is_native() != (all_wait && ranks > 1))
            testing::fail("a call is native, though nobody refuses, or is not");
        seen_late += v.late.empty() ? 0 : 1;
        if (v.is_native()) {
            looked_at.pass();
            MPI_Allreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        } else {
            looked_at.run(engine::made_by(v, looked_at.intent_of(a, c)), c);
            if (ours.planned_by() != v.arrivals(ranks)) testing::fail("a call is not planned by its verdict");
        }
        check_equal_on_all(ours, "a verdict");
        for (const double x : out)
            if (x != ranks) testing::fail(fmt::format("a sum is {} and not {}", x, ranks));
    }
    if (ranks > 1 && seen_late == 0) testing::fail("no keeper sees a late rank");
}

/// The same where the order does not depend on who is late: a late keeper's thread answers for it, unless it rests.
void check_late_keepers_are_answered_for() {
    mpi::communicator ours(MPI_COMM_WORLD);
    engine::inner_communicator looked_at(ours);
    const algorithm& a = find_algorithm("allreduce/clairvoyant");
    const engine::roll_call::order in_any_case{&a - algorithms().data(), 4, 20us, 1ms};
    std::vector<double> in(4000, 1.0);
    int answered = 0;
    for (int i = 0; i < 16; ++i) {
        std::vector<double> out(in.size());
        const rank keeper(i % ranks);
        const bool rests = i % 4 == 3;
        if (rests) looked_at.rest();
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank(me) == keeper) std::this_thread::sleep_for(50ms);
        const engine::call_facts c(
            mpi::call::allreduce(in.data(), out.data(), static_cast<std::int64_t>(in.size()), MPI_DOUBLE, MPI_SUM), me,
            ranks, {});
        const engine::roll_call::verdict v = looked_at.call_roll(c, keeper, 300us, in_any_case);
        looked_at.run(engine::made_by(v, looked_at.intent_of(a, c)), c);
        const bool without_keeper = std::ranges::find(v.late, keeper) != v.late.end();
        if (without_keeper && (rests || !has_thread)) testing::fail("a keeper that has no thread is answered for");
        answered += without_keeper ? 1 : 0;
        check_equal_on_all(ours, "a verdict");
        for (const double x : out)
            if (x != ranks) testing::fail(fmt::format("a sum is {} and not {}", x, ranks));
    }
    if (has_thread && answered == 0) testing::fail("no late keeper is answered for");
}

void check_nothing_left() {
    const testing::mpi_counts left = testing::count_mpi();
    if (left.requests != 0) testing::fail(fmt::format("{} requests are left over", left.requests));
    if (left.communicators != 0) testing::fail(fmt::format("{} communicators are left over", left.communicators));
    if (const std::int64_t n = total(left.messages); n != 0)
        testing::fail(fmt::format("{} messages were not received", n));
}

}  // namespace

int main(int argc, char** argv) {
    int rounds = 4;
    int wanted = MPI_THREAD_MULTIPLE;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        if (option == "--rounds") rounds = static_cast<int>(parse_integer(argv[i + 1], "rounds", 1, 1 << 20));
        if (option == "--threads" && argv[i + 1] == std::string("funneled")) wanted = MPI_THREAD_FUNNELED;
    }
    int level = 0;
    MPI_Init_thread(&argc, &argv, wanted, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char* background = std::getenv("RUBATO_BACKGROUND");
    has_thread = level == MPI_THREAD_MULTIPLE && (background == nullptr || background != std::string("off"));
    seen sum;
    try {
        program p(7);
        for (int i = 0; i < rounds; ++i) {
            p.run(1, i % 2 == 1, sum);
            check_nothing_left();
        }
        if (ranks > 1) {
            check_late_ranks_are_seen();
            check_wrong_calls();
            check_given_keepers();
            check_late_keepers_are_answered_for();
        }
        check_nothing_left();
    } catch (const std::exception& e) {
        testing::fail(e.what());
    }
    if (me == 0)
        fmt::print("{} ranks: {} calls planned by roll calls, in {} of them the late rank alone was late\n", ranks,
                   sum.calls, sum.late);
    MPI_Finalize();
    return sum.calls > 0 && (sum.late > 0 || ranks == 1) ? 0 : 1;
}
