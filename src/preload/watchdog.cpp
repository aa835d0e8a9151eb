#include "preload/watchdog.hpp"

#include "core/signals_blocked.hpp"
#include "mpi/predefined.hpp"
#include "observe/mapped_file.hpp"
#include "preload/arguments.hpp"
#include "preload/call_place.hpp"
#include "rubato/clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <utility>

#include <pthread.h>
#include <unistd.h>

namespace rubato::preload {
namespace {

/// As of timeout(1).
constexpr int status_of_ended = 124;
/// Of calls that wait, in one report.
constexpr std::size_t most_calls = 4;

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
    const signals_blocked within;
    thread_ = std::thread([this] { run(); });
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
    to_.explain_threads([this](std::uint64_t type) {
        const auto found = sizes_.find(type);
        return found != sizes_.end() ? found->second : 0;
    });
    to_.beat();
    if (where_.apart) to_.sync();
    if (where_.rank != 0) {
        if (how_.ends && observe::tells_to_end(observe::part_of(where_.output, 0))) end_program();
        return;
    }
    const time_ns now = own_time();
    leave_out_own_pause(now);
    if (++looks_ == 4) warn_of_unseen();
    begin_anew_after_stop(now);
    if (!somebody_waits(now)) {
        asked_.reset();
    } else if (!asked_) {
        asked_ = pulses_now();
        asked_at_ = now;
    } else if (const pulses silent = silent_since(*asked_); silent.empty() || now - asked_at_ >= how_.limit / 2) {
        report(now, silent);
        asked_.reset();
    }
}

/// The whole program may have been stopped, or its machine.
void watchdog::leave_out_own_pause(time_ns now) {
    const time_ns since_last = now - std::exchange(last_look_, now);
    if (looks_ == 0 || since_last <= 2 * interval()) return;
    const time_ns pause = since_last - interval();
    asked_at_ += pause;
    for (auto& of_rank : seen_)
        for (standing& s : of_rank) s.since += pause;
}

/// Whoever has waited for a process that was stopped has a whole limit once more.
void watchdog::begin_anew_after_stop(time_ns now) {
    if (stopped_.empty() || !silent_since(stopped_).empty()) return;
    stopped_.clear();
    said_.clear();
    for (auto& of_rank : seen_)
        for (standing& s : of_rank) s = {s.at, now};
}

watchdog::pulses watchdog::pulses_now() const {
    pulses all;
    for (std::int32_t r = 1; r < where_.ranks; ++r) all[r] = observe::beats_of(observe::part_of(where_.output, r));
    return all;
}

/// The lock of a process that has ended is gone.
watchdog::pulses watchdog::silent_since(const pulses& then) const {
    pulses silent;
    for (const auto& [r, beats] : then) {
        const std::filesystem::path part = observe::part_of(where_.output, r);
        if (observe::beats_of(part) == beats && observe::is_being_written(part)) silent.emplace(r, beats);
    }
    return silent;
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

void watchdog::report(time_ns now, const pulses& stopped) {
    std::vector<observe::watched_process> all;
    time_ns common = now;
    for (std::int32_t r = 0; r < where_.ranks; ++r) {
        auto one = observe::glance_at(observe::part_of(where_.output, r));
        if (!one || one->who.rank != r) continue;
        if (r == 0) common = one->to_common(now);
        all.push_back({std::move(*one), {}, stopped.contains(r)});
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
    if (!stopped.empty() && how_.ends && shown > 0)
        text += "rubato: watchdog: the program is not ended as long as a process is stopped\n";
    std::fputs(text.c_str(), stderr);
    stopped_ = stopped;
    if (!how_.ends || shown == 0 || !stopped.empty()) return;
    std::fputs("rubato: watchdog: the program is ended\n", stderr);
    to_.tell_to_end();
    if (where_.apart) to_.sync();
    end_program();
}

}  // namespace rubato::preload
