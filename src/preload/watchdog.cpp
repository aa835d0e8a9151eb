#include "preload/watchdog.hpp"

#include "mpi/predefined.hpp"
#include "preload/arguments.hpp"
#include "preload/call_place.hpp"
#include "rubato/clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include <pthread.h>
#include <unistd.h>
#include <csignal>

namespace rubato::preload {
namespace {

/// As of timeout(1).
constexpr int status_of_ended = 124;
/// Of calls that wait, in one report.
constexpr std::size_t most_calls = 4;

/// The program's handlers of signals must not run in the watchdog's thread.
template <class Run>
std::thread thread_without_signals(Run run) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread made;
    try {
        made = std::thread(std::move(run));
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return made;
}

[[noreturn]] void end_program() {
    std::fflush(stderr);
    _exit(status_of_ended);
}

}  // namespace

watchdog::watchdog(observe::recorder& to, place where, const watchdog_settings& how)
    : to_(to), where_(std::move(where)), how_(how) {
    for (const mpi::predefined_type& t : mpi::predefined_types())
        if (t.type != MPI_DATATYPE_NULL) sizes_[bits_of(t.type)] = size_of_type(t.type);
    if (where_.rank == 0) seen_.resize(static_cast<std::size_t>(where_.ranks));
    thread_ = thread_without_signals([this] { run(); });
}

watchdog::~watchdog() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    ends_.notify_all();
    thread_.join();
}

bool watchdog::claim() noexcept {
    if (refused) return false;
    here = to_.add_thread();
    refused = here == nullptr;
    static std::atomic<bool> said{false};
    if (refused && !said.exchange(true))
        std::fprintf(stderr, "rubato: the watchdog does not see all threads of rank %d: too many call collectives\n",
                     where_.rank);
    return !refused;
}

time_ns watchdog::interval() const {
    using namespace std::chrono_literals;
    return std::clamp<time_ns>(how_.limit / 8, 20ms, 5s);
}

void watchdog::run() {
    pthread_setname_np(pthread_self(), "rubato watchdog");
    std::unique_lock lock(mutex_);
    while (!ends_.wait_for(lock, interval(), [this] { return ending_; })) {
        lock.unlock();
        try {
            look();
        } catch (const std::exception&) {
            // No memory: perhaps the next time.
        }
        lock.lock();
    }
}

void watchdog::look() {
    const bool stays = to_.explain_threads([this](std::uint64_t type) {
        const auto found = sizes_.find(type);
        return found != sizes_.end() ? found->second : 0;
    });
    if (where_.apart && stays) to_.sync();
    if (where_.rank != 0) {
        if (how_.ends && observe::tells_to_end(observe::part_of(where_.output, 0))) end_program();
        return;
    }
    const time_ns now = own_time();
    if (++looks_ == 4) warn_of_unseen();
    if (somebody_waits(now)) report(now);
}

void watchdog::warn_of_unseen() const {
    std::vector<std::int32_t> unseen;
    for (std::int32_t r = 0; r < where_.ranks; ++r)
        if (!observe::glance_at(observe::part_of(where_.output, r))) unseen.push_back(r);
    if (unseen.empty()) return;
    std::fputs(fmt::format("rubato: the watchdog cannot see {}: there is no file of theirs in '{}.parts'; name an "
                           "--output in a folder that all hosts share\n",
                           observe::ranks_text(unseen), where_.output.string())
                   .c_str(),
               stderr);
}

bool watchdog::somebody_waits(time_ns now) {
    bool found = false;
    for (std::int32_t r = 0; r < where_.ranks; ++r) {
        std::vector<standing>& of_rank = seen_[static_cast<std::size_t>(r)];
        const std::vector<observe::turn_within> turns = observe::turns_within_calls(observe::part_of(where_.output, r));
        of_rank.resize(std::max(of_rank.size(), turns.size()));
        for (std::size_t i = 0; i < turns.size(); ++i) {
            standing& was = of_rank[i];
            // A rank that has not tested since the last look computes.
            const bool stays = was.at.turn == turns[i].turn && (!turns[i].polls || was.at.polls != turns[i].polls);
            if (!stays) was = {turns[i], now};
            was.at = turns[i];
            found = found || (was.at.turn != 0 && !was.said && now - was.since >= how_.limit);
        }
    }
    return found;
}

/// Clocks of hosts drift; how long a thread was seen within a call does not depend on them.
time_ns watchdog::age_of(const observe::part& p, const observe::part_thread& t, time_ns now, time_ns common) const {
    const time_ns by_clock = std::max(common - p.to_common(t.since), time_ns{});
    const auto& of_rank = seen_[static_cast<std::size_t>(p.who.rank)];
    if (!t.inside) return by_clock;
    if (t.number >= of_rank.size() || of_rank[t.number].at.turn != t.turn) return time_ns{};  // it has moved since
    const time_ns seen = now - of_rank[t.number].since;
    return std::clamp(by_clock, seen, seen + interval());
}

void watchdog::report(time_ns now) {
    std::vector<observe::watched_process> all;
    time_ns common = now;
    for (std::int32_t r = 0; r < where_.ranks; ++r) {
        auto one = observe::glance_at(observe::part_of(where_.output, r));
        if (!one || one->who.rank != r) continue;
        if (r == 0) common = one->to_common(now);
        all.push_back({std::move(*one), {}});
        for (const observe::part_thread& t : all.back().seen.threads)
            all.back().ages.push_back(age_of(all.back().seen, t, now, common));
    }
    std::string text;
    std::size_t shown = 0;
    const call_places places;
    for (const observe::held_up_call& c :
         observe::find_held_up(all, where_.ranks, how_.limit, [&](const observe::site& s) { return places.text(s); })) {
        if (!said_.insert(c.which).second || ++shown > most_calls) continue;
        for (std::size_t i = 0; i < c.text.size(); ++i)
            text += fmt::format("rubato: watchdog: {}{}\n", i == 0 ? "" : "  ", c.text[i]);
    }
    if (shown > most_calls) text += fmt::format("rubato: watchdog: {} more calls wait\n", shown - most_calls);
    for (auto& of_rank : seen_)
        for (standing& s : of_rank) s.said = s.said || now - s.since >= how_.limit;
    std::fputs(text.c_str(), stderr);
    if (!how_.ends || shown == 0) return;
    std::fputs("rubato: watchdog: the program is ended\n", stderr);
    to_.tell_to_end();
    if (where_.apart) to_.sync();
    end_program();
}

}  // namespace rubato::preload
