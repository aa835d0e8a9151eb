#include "arrival_runs.hpp"

#include <fmt/format.h>

#include <sys/prctl.h>
#include <algorithm>
#include <array>
#include <optional>
#include <thread>

using namespace rubato;
using namespace std::chrono_literals;

namespace {

constexpr int root = 0;
constexpr time_ns start_after = 8ms;  // what it takes to tell all ranks when a run starts
constexpr time_ns told_before = 3ms;  // what it takes that all know of an edge

double fraction(time_ns part, time_ns whole) {
    return static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

/// Word i of what the root sends to, or gets from, a rank in a run. No two are likely to be equal.
std::uint64_t word(std::uint64_t run, std::size_t rank, std::size_t i) {
    return (run * 0x9e3779b97f4a7c15U) ^ (rank * 0xc2b2ae3d27d4eb4fU) ^ i;
}

void fill_block(std::uint64_t* to, std::size_t words, std::uint64_t run, std::size_t rank) {
    for (std::size_t i = 0; i < words; ++i) to[i] = word(run, rank, i);
}

bool is_block(const std::uint64_t* from, std::size_t words, std::uint64_t run, std::size_t rank) {
    for (std::size_t i = 0; i < words; ++i)
        if (from[i] != word(run, rank, i)) return false;
    return true;
}

}  // namespace

arrival_runs::arrival_runs(MPI_Comm world, settings how) : world_(world), how_(how), plain_(world) {
    MPI_Comm_rank(world, &me_);
    MPI_Comm_size(world, &ranks_);
    prctl(PR_SET_TIMERSLACK, 1000);  // else a sleep takes 50us more than asked for
}

link_speed arrival_runs::measure_link(int from) {
    link_speed l;
    if (ranks_ < 2) return l;
    constexpr int small = 200;
    constexpr int large = 5;
    const int to = 1 - from;
    std::vector<char> data(std::size_t{4} << 20);
    const auto pass = [&](int a, int b, int bytes) {
        if (me_ == a) MPI_Send(data.data(), bytes, MPI_BYTE, b, 0, world_);
        if (me_ == b) MPI_Recv(data.data(), bytes, MPI_BYTE, a, 0, world_, MPI_STATUS_IGNORE);
    };
    time_ns round_trip = time_ns::max();
    for (int i = 0; i < small && me_ < 2; ++i) {
        const time_ns begin = own_time();
        pass(from, to, 8);
        pass(to, from, 8);
        if (me_ == from) round_trip = std::min(round_trip, own_time() - begin);
    }
    time_ns best = time_ns::max();
    for (int i = 0; i < large; ++i) {
        MPI_Barrier(world_);
        std::int64_t begin = now().count();
        pass(from, to, static_cast<int>(data.size()));
        const time_ns end = now();
        MPI_Bcast(&begin, 1, MPI_INT64_T, from, world_);
        best = std::min(best, end - time_ns(begin));
    }
    std::int64_t latency = round_trip.count() / 2;
    MPI_Bcast(&latency, 1, MPI_INT64_T, from, world_);
    l.latency = time_ns(latency);
    l.per_byte = static_cast<double>((best - l.latency).count()) / static_cast<double>(data.size());
    MPI_Bcast(&l.per_byte, 1, MPI_DOUBLE, to, world_);
    return l;
}

time_ns arrival_runs::clock_error() const {
    std::int64_t worst = plain_.clock().error_bound().count();
    MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT64_T, MPI_MAX, world_);
    return time_ns(worst);
}

void arrival_runs::sleep_until(time_ns t) const {
    for (time_ns left = t - now(); left > 0ns; left = t - now()) std::this_thread::sleep_for(left);
}

mpi::call arrival_runs::new_data(collective what, std::size_t words) {
    ++number_;
    const auto mine = static_cast<std::size_t>(me_);
    const std::size_t blocks = me_ == root ? static_cast<std::size_t>(ranks_) : 0;
    const bool scatter = what == collective::scatter;
    send_.assign(scatter ? blocks * words : words, 0);
    recv_.assign(scatter ? words : blocks * words, 0);
    if (!scatter) fill_block(send_.data(), words, number_, mine);
    for (std::size_t r = 0; r < blocks && scatter; ++r) fill_block(&send_[r * words], words, number_, r);
    const auto count = static_cast<std::int64_t>(words);
    return {what, send_.data(), count, {}, MPI_UINT64_T, recv_.data(), count, {}, MPI_UINT64_T, MPI_OP_NULL, root};
}

bool arrival_runs::right(collective what) const {
    if (what == collective::scatter)
        return is_block(recv_.data(), recv_.size(), number_, static_cast<std::size_t>(me_));
    const std::size_t words = send_.size();
    for (std::size_t r = 0; r * words < recv_.size(); ++r)
        if (!is_block(&recv_[r * words], words, number_, r)) return false;
    return true;
}

/// False if a rank came too late.
bool arrival_runs::attempt(const contestant& c, collective what, std::size_t words,
                           const std::vector<time_ns>& arrivals, mpi::communicator& ours, timed& result) {
    mpi::selection how;
    if (c.use != nullptr) how = mpi::selection(*c.use);
    if (how_.known == predictions::given) how.arrivals = arrivals;
    const bool tells = how_.known == predictions::edge && c.use != nullptr && c.use->arrival_aware;
    const mpi::call job = new_data(what, words);
    const std::uint64_t begun_before = ours.begun_early();
    MPI_Barrier(world_);
    MPI_Barrier(world_);
    std::int64_t agreed = (now() + start_after).count();
    MPI_Bcast(&agreed, 1, MPI_INT64_T, 0, world_);
    const time_ns start(agreed);
    const time_ns planned = start + arrivals[static_cast<std::size_t>(me_)];
    if (tells) {
        const time_ns begin = now();
        ours.processing_start();
        sleep_until(start - told_before);
        ours.edge(std::clamp(fraction(now() - begin, planned - begin), 1e-6, 1 - 1e-6));
    }
    sleep_until(start);
    if (c.named) ours.expect(how, job);
    sleep_until(planned);
    if (tells) ours.processing_end();
    const time_ns arrival = now();
    if (c.use != nullptr)
        ours.run(how, job);
    else
        mpi::run_native(c.native, job);
    const time_ns exit = now();
    constexpr std::size_t told = 4;
    const std::array<std::int64_t, told> mine{(arrival - start).count(), (exit - start).count(), right(what) ? 1 : 0,
                                              static_cast<std::int64_t>(ours.begun_early() - begun_before)};
    std::vector<std::int64_t> all(told * arrivals.size());
    MPI_Allgather(mine.data(), told, MPI_INT64_T, all.data(), told, MPI_INT64_T, world_);
    bool punctual = true;
    result = {};
    for (std::size_t r = 0; r < arrivals.size(); ++r) {
        const std::span of = std::span(all).subspan(told * r, told);
        result.arrivals.emplace_back(of[0]);
        result.exits.emplace_back(of[1]);
        result.begun_early += static_cast<int>(of[3]);
        punctual = punctual && result.arrivals[r] <= arrivals[r] + how_.tolerance;
        if (of[2] == 0)
            throw error(fmt::format("{} gives a wrong result on rank {}", c.name, r), "its data is not what was sent",
                        "this is an error in it, or in this program");
    }
    return punctual;
}

timed arrival_runs::run(const contestant& c, collective what, std::int64_t block,
                        const std::vector<time_ns>& arrivals) {
    const std::size_t words = static_cast<std::size_t>(block) / sizeof(std::uint64_t);
    const bool agrees = c.use != nullptr && c.use->arrival_aware && how_.known != predictions::given;
    const bool early = c.use != nullptr && c.use->early;
    // A communicator with a background thread lives only as long as it is measured, that others are not disturbed.
    std::optional<mpi::communicator> own;
    if (early || agrees) own.emplace(world_);
    mpi::communicator& ours = own ? *own : plain_;
    // It listens for announcements from the first call on.
    if (early) ours.run(*c.use, new_data(what, 1));
    timed result;
    constexpr int rehearsals = 2;  // what they exchange is known in the third
    for (int i = 0; i < rehearsals && agrees; ++i) attempt(c, what, words, arrivals, ours, result);
    int repeated = 0;
    for (; !attempt(c, what, words, arrivals, ours, result); ++repeated)
        if (repeated == 20)
            throw error("ranks do not arrive when they should", "the machine is too busy",
                        "wait until it is quiet, or allow more by --tolerance");
    result.repeated = repeated;
    return result;
}
