// Random programs on MPI. They call every algorithm that uses arrivals or begins early, and others in between, without
// a pause, on communicators that come and go. Predictions are right, wrong, absurd, agreed on or absent. Ranks come
// late, announce it or do not, name the next call or do not. Some calls leave the choice to Rubato, for some roll is
// called. Some block; others go on while they are under way, up to 500 of them, and are waited for in any order.
// Results must equal the native collective's, all ranks must plan alike, and nothing may be left over.
//
//   mpirun -n P random_programs [--cases N] [--seed N] [--threads multiple|funneled]
//
// All ranks draw the same program from one seed. Local choices, such as delays, come from a seed of the rank.
#include "simulator/arrival/predictor.hpp"
#include "support/mpi_counts.hpp"
#include "support/mpi_experiment.hpp"

#include <malloc.h>
#include <array>
#include <chrono>
#include <optional>
#include <random>
#include <thread>

namespace {

using namespace rubato;
using namespace std::chrono_literals;
using rubato::testing::data;
using rubato::testing::experiment;
using rubato::testing::fail;
using rubato::testing::kind;

class dice {
public:
    explicit dice(std::uint64_t seed) : random_(seed) {}
    std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
    bool chance(int percent) { return below(100) < percent; }
    template <class List>
    auto& one_of(List& list) {
        return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))];
    }

private:
    std::mt19937_64 random_;
};

/// A communicator of the program, and Rubato on it.
struct place {
    MPI_Comm user = MPI_COMM_NULL;
    std::optional<mpi::communicator> ours{};
    int edges = 0;  // how many of the next calls have edges before them, on most ranks

    int ranks() const { return ours->size(); }
};

/// One call, with what it must give.
struct planned_call {
    place* on;
    experiment with;
    experiment::made mine;
    data want;
    mpi::selection how;
    bool edge;
    time_ns late;
    std::string name;
    mpi::request under_way{};
    std::optional<mpi::persistent_call> again{};
    std::uint64_t made_by = 0;  // how it was made, mixed into a number
};

struct totals {
    std::uint64_t calls = 0, early = 0, agreed = 0;
    std::size_t most_under_way = 0;
};

class random_program {
public:
    random_program(std::uint64_t seed, int me, int ranks)
        : shared_(seed), own_(seed * 1000 + static_cast<std::uint64_t>(me)), me_(me), ranks_(ranks) {
        for (const algorithm& a : algorithms())
            if (!traits(a.what).on_graph) (a.arrival_aware || a.early ? watched_ : others_).push_back(&a);
    }

    void run(int cases, totals& sum) {
        places_.resize(4);
        for (int done = 0; done < cases;) {
            for (place& p : places_) {
                if (p.ours && shared_.chance(5)) leave(p, sum);
                if (!p.ours) make(p);
            }
            // Native calls synchronise ranks, so all of them come first, and then ours without a pause.
            std::vector<planned_call> batch;
            const bool many = shared_.chance(3);
            batch.reserve(many ? most_ever : 12);
            most_ = many ? most_ever : static_cast<std::size_t>(own_.chance(50) ? 1 : 1 + own_.below(12));
            while (batch.size() < batch.capacity()) batch.push_back(plan(many));
            for (planned_call& c : batch) make(c, sum);
            while (!pending_.empty()) end_one(sum);
            for (const planned_call& c : batch) check_agreement(c);
            done += static_cast<int>(batch.size());
            sum.most_under_way = std::max(sum.most_under_way, most_seen_);
        }
        for (place& p : places_) leave(p, sum);
    }

private:
    void make(place& p) {
        const bool whole = &p == &places_.front();
        std::vector<int> colours;
        for (int r = 0; r < ranks_; ++r) colours.push_back(whole ? 0 : static_cast<int>(shared_.below(2)));
        MPI_Comm_split(MPI_COMM_WORLD, colours[static_cast<std::size_t>(me_)], shared_.chance(50) ? me_ : ranks_ - me_,
                       &p.user);
        mpi::settings how;
        how.from_bytes = shared_.chance(70) ? 0 : 4096;
        how.exchange_every = static_cast<std::int32_t>(1 + shared_.below(3) * shared_.below(3));
        auto predictors = simulator::predictors_to_try();
        how.predictor = shared_.one_of(predictors);
        how.quantum = time_ns(shared_.below(3) * 50000);
        if (own_.chance(20)) how.most_early = static_cast<std::size_t>(own_.below(1000));
        p.ours.emplace(p.user, how);
        p.edges = 0;
        // Rank 0's counts.
        const std::array<std::string_view, 3> models{"curie", "hockney:alpha=200us,beta=50ns,gamma=1ns",
                                                     "loggp:L=20us,o=5us,g=5us,G=10ns,rendezvous=16KiB"};
        if (shared_.chance(60)) p.ours->use_model(parse_model(own_.one_of(models)));
    }

    void leave(place& p, totals& sum) {
        sum.early += p.ours->begun_early();
        p.ours.reset();
        MPI_Comm_free(&p.user);
    }

    planned_call plan(bool many) {
        place& p = shared_.one_of(places_);
        for (;;) {
            const algorithm& a = shared_.chance(75) ? *watched_[next_++ % watched_.size()] : *shared_.one_of(others_);
            const collective_traits& t = traits(a.what);
            const kind& k = shared_.one_of(kinds_);
            if (t.reduces && k.ops.empty()) continue;
            const MPI_Op op = t.reduces ? shared_.one_of(k.ops) : MPI_OP_NULL;
            const bool open = shared_.chance(20);
            mpi::selection how = open ? mpi::selection() : mpi::selection(a);
            how.segments = static_cast<std::uint32_t>(shared_.below(4));
            problem asked;
            asked.what = a.what;
            asked.ranks = p.ranks();
            asked.commutative = op == MPI_OP_NULL || op == MPI_SUM || op == MPI_MAX;
            asked.idempotent = op == MPI_MAX;
            const std::int64_t root_drawn = shared_.below(1 << 20);
            const int root = static_cast<int>(root_drawn % p.ranks());
            const std::vector<time_ns> late = delays();
            if (a.arrival_aware || open) how.arrivals = prediction(p, late);
            if (!open && a.has(need::round_time) && (!how.arrivals.empty() || shared_.chance(70)))
                how.round_time = time_ns((1 + shared_.below(3)) * 20000);
            const bool may_call_roll = !open && a.arrival_aware && how.arrivals.empty() &&
                                       (!a.has(need::round_time) || how.round_time > time_ns{});
            if (may_call_roll && shared_.chance(30))
                how.roll_call = mpi::roll_call_options{std::chrono::microseconds(shared_.below(300))};
            const std::int64_t count = counts(t, p.ranks()) / (many ? 20 : 1);
            const bool in_place = shared_.chance(40) && a.what != collective::alltoallv;
            if (p.edges == 0 && shared_.chance(10)) p.edges = 10;
            const bool edge = p.edges > 0 ? p.edges-- > 0 && own_.chance(95) : own_.chance(5);
            const time_ns mine = late[static_cast<std::size_t>(me_)];
            std::string name =
                fmt::format("{} of {} {} (root {} of {}, in place {}, {} segments)", open ? "what Rubato chose" : a.id,
                            count, k.name, root, p.ranks(), in_place, how.segments);
            // Halves of the ranks may differ in size: both skip an algorithm that one cannot use.
            int usable = !unmet_need(a, asked);
            MPI_Allreduce(MPI_IN_PLACE, &usable, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
            if (usable == 0) continue;
            experiment e(p.user, a.what, k, op, count, root, in_place);
            data want = e.native();
            experiment::made m = e.call();
            return {
                &p, std::move(e), std::move(m), std::move(want), how, edge, many ? mine / 20 : mine, std::move(name)};
        }
    }

    std::vector<time_ns> delays() {
        std::vector<time_ns> all(static_cast<std::size_t>(ranks_));
        for (time_ns& t : all)
            if (shared_.chance(25)) t = std::chrono::microseconds(shared_.below(shared_.chance(20) ? 3000 : 300));
        return all;
    }

    /// The arrivals that the program gives; empty: the ranks' own prediction is used.
    std::vector<time_ns> prediction(const place& p, const std::vector<time_ns>& late) {
        const std::int64_t sort = shared_.below(12);
        std::vector<time_ns> said;
        for (const time_ns t : late) {
            const time_ns any = std::chrono::microseconds(shared_.below(5000));
            if (sort == 0) said.push_back(t);
            if (sort == 1) said.push_back(any);
            if (sort == 2) said.push_back(3ms - t);
            if (sort == 3) said.push_back(7us);
            if (sort == 4) said.push_back(any.count() % 2 == 0 ? longest_time / 2 : -longest_time / 2);
        }
        if (!said.empty()) said.resize(static_cast<std::size_t>(p.ranks()));
        return said;
    }

    std::int64_t counts(const collective_traits& t, int ranks) {
        const std::int64_t sort = shared_.below(20);
        if (sort < 3) return 0;
        if (sort < 6) return 1;
        if (sort < 18) return 2 + shared_.below(2000);
        return 100000 / (t.chunked() ? ranks : 1);
    }

    /// Computes until the call, in its own way, and makes or starts it.
    void make(planned_call& c, totals& sum) {
        mpi::communicator& ours = *c.on->ours;
        const bool persistent = own_.chance(40);
        if (persistent) c.again.emplace(ours.prepare(c.how, c.mine.c));
        if (own_.chance(30)) persistent ? c.again->expect() : ours.expect(c.how, c.mine.c);
        if (c.edge) ours.processing_start();
        compute(ours, c.late / 2);
        if (c.edge) ours.edge(own_.chance(90) ? 0.5 : 1e-12);
        compute(ours, c.late / 2);
        if (c.edge) ours.processing_end();
        if (!persistent && most_ < most_ever && own_.chance(40)) {
            ours.run(c.how, c.mine.c);
            return check(c, sum);
        }
        if (persistent)
            c.again->start();
        else
            c.under_way = ours.start(c.how, c.mine.c);
        pending_.push_back(&c);
        most_seen_ = std::max(most_seen_, pending_.size());
        while (pending_.size() >= most_ && most_ < most_ever) end_one(sum);
        while (!pending_.empty() && own_.chance(most_ < most_ever ? 20 : 0)) end_one(sum);
    }

    /// Any of those under way; sometimes it is only asked for.
    void end_one(totals& sum) {
        const auto it = pending_.begin() + own_.below(std::ssize(pending_));
        planned_call& c = **it;
        if (own_.chance(60)) {
            const bool ended = c.again ? c.again->test() : c.under_way.test();
            if (!ended) return std::this_thread::yield();
        } else {
            c.again ? c.again->wait() : c.under_way.wait();
        }
        pending_.erase(it);
        check(c, sum);
    }

    void check(planned_call& c, totals& sum) {
        ++sum.calls;
        const data got = c.with.result(c.mine);
        if (!c.with.promises_nothing_here() && !(got == c.want))
            fail(fmt::format("{}: {}", c.name, got.difference(c.want)));
        const mpi::communicator& ours = *c.on->ours;
        const std::vector<time_ns> by = ours.planned_by();
        if (c.how.arrivals.empty() && !by.empty()) ++sum.agreed;
        c.made_by = 1469598103934665603U + static_cast<std::uint64_t>(ours.last_used() - algorithms().data());
        for (const time_ns t : by) c.made_by = (c.made_by ^ static_cast<std::uint64_t>(t.count())) * 1099511628211U;
    }

    void compute(mpi::communicator& ours, time_ns t) {
        if (own_.chance(5)) ours.progress();
        if (t > time_ns{}) std::this_thread::sleep_for(t);
    }

    void check_agreement(const planned_call& c) {
        if (c.on != &places_.front() || !shared_.chance(25)) return;
        std::uint64_t both[2] = {c.made_by, ~c.made_by};
        MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_UINT64_T, MPI_MIN, c.on->user);
        if (both[0] != ~both[1])
            fail(fmt::format("{}: ranks have planned by different arrivals, or chosen differently", c.name));
    }

    dice shared_, own_;
    int me_, ranks_;
    std::vector<const algorithm*> watched_{}, others_{};
    std::vector<kind> kinds_ = rubato::testing::kinds();
    std::vector<place> places_{};
    std::size_t next_ = 0;
    static constexpr std::size_t most_ever = 500;  // calls under way
    std::vector<planned_call*> pending_{};
    std::size_t most_ = 1, most_seen_ = 0;
};

/// Bytes in use.
std::int64_t memory_in_use() {
    const struct mallinfo2 m = mallinfo2();
    return static_cast<std::int64_t>(m.uordblks + m.hblkhd);
}

/// After all communicators were freed.
void check_nothing_left() {
    const rubato::testing::mpi_counts left = rubato::testing::count_mpi();
    if (left.requests != 0) fail(fmt::format("{} requests are left over", left.requests));
    if (left.communicators != 0) fail(fmt::format("{} communicators are left over", left.communicators));
    long undelivered = left.messages;
    MPI_Allreduce(MPI_IN_PLACE, &undelivered, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (undelivered != 0) fail(fmt::format("{} messages were not received", undelivered));
}

/// Without a thread, ranks receive announcements in their calls; otherwise these would fill MPI's memory.
void check_nothing_piles_up(int ranks) {
    mpi::settings how;
    how.background = false;
    how.from_bytes = 0;
    mpi::communicator ours(MPI_COMM_WORLD, how);
    int x = 0;
    const auto waiting = [] {
        long n = rubato::testing::count_mpi().messages;
        MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        return n;
    };
    for (int i = 0; i < 100; ++i) {
        ours.bcast("bcast/linear+early", &x, 1, MPI_INT, 0);
        if (waiting() > 12L * ranks) fail(fmt::format("{} messages wait after {} calls", waiting(), i + 1));
    }
}

}  // namespace

int main(int argc, char** argv) {
    int cases = 600;
    std::uint64_t seed = 1;
    int wanted = MPI_THREAD_MULTIPLE;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        if (option == "--cases") cases = static_cast<int>(parse_integer(argv[i + 1], "cases", 1, 1 << 20));
        if (option == "--seed") seed = static_cast<std::uint64_t>(parse_integer(argv[i + 1], "seed", 0, 1 << 30));
        if (option == "--threads" && argv[i + 1] == std::string("funneled")) wanted = MPI_THREAD_FUNNELED;
    }
    int level = 0;
    int me = 0;
    int ranks = 0;
    MPI_Init_thread(&argc, &argv, wanted, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    totals sum;
    std::int64_t grown = 0;
    try {
        random_program program(seed, me, ranks);
        program.run(cases / 2, sum);
        check_nothing_left();
        check_nothing_piles_up(ranks);
        check_nothing_left();
        const std::int64_t before = memory_in_use();
        program.run(cases / 2, sum);
        check_nothing_left();
        grown = memory_in_use() - before;
    } catch (const std::exception& e) {
        fail(e.what());
    }
    // MPI keeps some memory for later; a leak of ours would be more.
    constexpr std::int64_t allowed = 1 << 20;
    if (grown > allowed)
        fail(fmt::format("{} bytes more are in use after the second half than after the first", grown));
    std::uint64_t all[3] = {sum.calls, sum.early, sum.agreed};
    MPI_Allreduce(MPI_IN_PLACE, all, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    const char* background = std::getenv("RUBATO_BACKGROUND");
    const bool thread = level == MPI_THREAD_MULTIPLE && (background == nullptr || background != std::string("off"));
    if (me == 0)
        fmt::print(
            "{} ranks: {} collectives equal the native ones, up to {} under way, {} begun early{}, {} planned by "
            "exchanged arrivals; {} bytes more after the second half\n",
            ranks, all[0], sum.most_under_way, all[1], thread ? "" : " without a thread", all[2], grown);
    MPI_Finalize();
    return (all[1] > 0 || !thread) && all[2] > 0 ? 0 : 1;
}
