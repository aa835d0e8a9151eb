#include "command/experiments/timed_calls.hpp"

#include "base/core/wire.hpp"
#include "base/statistics/statistics.hpp"
#include "engine/measure/measured_link.hpp"
#include "engine/mpi/datatype.hpp"

#include <fmt/format.h>

#include <sys/prctl.h>
#include <array>
#include <numeric>
#include <thread>

namespace rubato::command {
namespace {

using namespace std::chrono_literals;

/// The time needed to tell all ranks when a call starts.
constexpr time_ns start_after = 8ms;

}  // namespace

timed_calls::timed_calls(settings how) : how_(std::move(how)), plain_(world) {
    prctl(PR_SET_TIMERSLACK, 1000);  // else a sleep takes 50us more than asked for
}

simulator::link timed_calls::measure_link() {
    if (ranks_ < 2) return {};
    MPI_Comm pair = MPI_COMM_NULL;
    engine::check(MPI_Comm_split(world, me_ < 2 ? 0 : MPI_UNDEFINED, me_, &pair), "MPI_Comm_split");
    if (pair != MPI_COMM_NULL)
        engine::check(MPI_Comm_set_errhandler(pair, MPI_ERRORS_ARE_FATAL), "MPI_Comm_set_errhandler");
    struct {
        std::int64_t latency, large_message;
    } measured{};
    if (me_ == 0) {
        constexpr int times = 200;
        engine::link_client client(pair, 8);
        std::vector<double> round_trips;
        round_trips.reserve(times);
        for (int i = 0; i < times; ++i) round_trips.push_back(client.round_trip(1, {}, 8));
        client.stop();
        measured.latency = static_cast<std::int64_t>(base::median(round_trips) / 2);
    } else if (me_ == 1) {
        engine::serve_link(pair, 8);
    }
    if (pair != MPI_COMM_NULL) {
        measured.large_message = std::min(engine::time_large_message(pair, plain_.clock(), true, 2s),
                                          engine::time_large_message(pair, plain_.clock(), false, 2s))
                                     .count();
        engine::check(MPI_Comm_free(&pair), "MPI_Comm_free");
    }
    engine::check(MPI_Bcast(&measured, base::numbers_in(measured), MPI_INT64_T, 0, world), "MPI_Bcast");
    const auto bytes = static_cast<double>(engine::large_message);
    return {time_ns(measured.latency),
            std::max(0.0, static_cast<double>(measured.large_message - measured.latency) / bytes)};
}

void timed_calls::pass_time_until(time_ns t) const {
    for (time_ns left = t - now(); left > 0ns; left = t - now())
        if (how_.delay == delay_by::sleep) std::this_thread::sleep_for(left);
}

/// When the call starts; equal on all ranks.
time_ns timed_calls::start_time() const {
    engine::check(MPI_Barrier(world), "MPI_Barrier");
    engine::check(MPI_Barrier(world), "MPI_Barrier");
    if (how_.start == start_by::barrier) return now();
    std::int64_t agreed = (now() + start_after).count();
    engine::check(MPI_Bcast(&agreed, 1, MPI_INT64_T, 0, world), "MPI_Bcast");
    return time_ns(agreed);
}

time_ns timed_calls::start_together() const {
    const time_ns start = start_time();
    pass_time_until(start);
    return now() - start;
}

bool timed_calls::punctual(time_ns late) const {
    const time_ns latest(among_ranks(late.count(), MPI_MAX));
    return how_.start != start_by::window || latest <= how_.tolerance;
}

bool timed_calls::uses_predictor(const contestant& c) const {
    return how_.prediction != "perfect" && c.use != nullptr && c.use->arrival_aware;
}

std::vector<std::vector<reports::timeline_step>> timed_calls::gather_steps(const std::vector<recorded_step>& mine,
                                                                           time_ns start) const {
    struct told {
        std::int64_t kind, peer, begin, end;
    };
    std::vector<told> own;
    own.reserve(mine.size());
    for (const recorded_step& s : mine)
        own.push_back(
            {static_cast<std::int64_t>(s.kind), s.peer, (s.when.begin - start).count(), (s.when.end - start).count()});
    const int size = static_cast<int>(own.size()) * base::numbers_in<told>();
    std::vector<int> sizes(static_cast<std::size_t>(ranks_));
    engine::check(MPI_Gather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, world), "MPI_Gather");
    std::vector<int> places(sizes.size());
    std::exclusive_scan(sizes.begin(), sizes.end(), places.begin(), 0);
    const auto told_in = [](int numbers) { return static_cast<std::size_t>(numbers / base::numbers_in<told>()); };
    std::vector<told> all(me_ == 0 ? told_in(places.back() + sizes.back()) : 0);
    engine::check(
        MPI_Gatherv(own.data(), size, MPI_INT64_T, all.data(), sizes.data(), places.data(), MPI_INT64_T, 0, world),
        "MPI_Gatherv");
    std::vector<std::vector<reports::timeline_step>> steps(me_ == 0 ? sizes.size() : 0);
    for (std::size_t r = 0; r < steps.size(); ++r)
        for (const told& of : std::span(all).subspan(told_in(places[r]), told_in(sizes[r])))
            steps[r].push_back({std::string(step_names[static_cast<std::size_t>(of.kind)]),
                                static_cast<std::int32_t>(of.peer), time_ns(of.begin), time_ns(of.end)});
    return steps;
}

timed_calls::outcome timed_calls::run(const contestant& c, experiment& e, const std::vector<time_ns>& arrivals,
                                      bool with_steps) {
    const bool early = c.use != nullptr && c.use->early;
    // Where a predictor learns from the calls of a contestant, its communicator is kept. Otherwise one with a
    // background thread exists only while it is measured, so that others are not disturbed.
    std::optional<mpi::communicator> own;
    mpi::communicator* ours = &plain_;
    if (uses_predictor(c)) {
        mpi::settings s;
        s.predictor = how_.prediction;
        s.exchange_every = 1;
        auto found = living_.find(c.known.name);
        if (found == living_.end()) found = living_.emplace(c.known.name, mpi::communicator(world, std::move(s))).first;
        ours = &found->second;
    } else if (early || with_steps) {
        ours = &own.emplace(world);
    }
    mpi::selection how = selection_of(c);
    if (c.use != nullptr && c.use->arrival_aware && !uses_predictor(c)) how.arrivals = arrivals;
    const MPI_Comm native = !c.is_ours() ? native_.get(e.what(), c) : MPI_COMM_NULL;
    mpi::multicast* const casting = c.casts ? &casting_.get(*c.casts) : nullptr;
    if (early && own && how_.announced) {  // it listens for announcements from the first call on
        experiment first = e.of_bytes(64);
        mpi::selection other = how;  // the plan of this call is not the one that is measured
        other.arrivals.clear();
        ours->run(other, first.prepare(number_));
    }
    const mpi::call job = e.prepare(++number_);
    if (with_steps) ours->record_steps();
    const std::uint64_t begun_before = ours->begun_early();
    const std::uint64_t by_tree_before = casting != nullptr ? casting->counts().by_tree : 0;
    const time_ns start = start_time();
    const time_ns planned = start + arrivals[static_cast<std::size_t>(me_)];
    pass_time_until(start);
    // A rank that is not late does not begin early.
    const time_ns begin = now();
    if (early && !how_.announced) ours->expect(how, job);
    pass_time_until(planned);
    const time_ns arrival = planned > start ? now() : begin;
    if (casting != nullptr)
        casting->bcast(job.recv, job.recv_count, job.recv_type, job.root);
    else if (c.use != nullptr)
        ours->run(how, job);
    else
        mpi::run_native(native, job);
    const time_ns exit = now();
    casting_.say_why_not();

    struct told {
        std::int64_t arrival, exit, begun_early, start;
    };
    const told mine{arrival.count(), exit.count(), static_cast<std::int64_t>(ours->begun_early() - begun_before),
                    start.count()};
    std::vector<told> all(arrivals.size());
    engine::check(MPI_Allgather(&mine, base::numbers_in(mine), MPI_INT64_T, all.data(), base::numbers_in(mine),
                                MPI_INT64_T, world),
                  "MPI_Allgather");
    const std::int64_t zero = all.front().start;
    outcome result;
    result.seen.name = c.known.name;
    if (casting != nullptr && casting->counts().by_tree > by_tree_before) result.seen.by_tree = casting->why_not();
    for (std::size_t r = 0; r < arrivals.size(); ++r) {
        result.seen.arrivals.emplace_back(all[r].arrival - zero);
        result.seen.exits.emplace_back(all[r].exit - zero);
        result.seen.begun_early += static_cast<std::int32_t>(all[r].begun_early);
        result.seen.late |= how_.start == start_by::window && result.seen.arrivals[r] > arrivals[r] + how_.tolerance;
    }
    if (with_steps) result.steps = gather_steps(ours->recorded_steps(), time_ns(zero));
    if (uses_predictor(c)) result.seen.predicted = ours->planned_by();
    result.wrong = said_by_one(e.wrong());
    return result;
}

}  // namespace rubato::command
