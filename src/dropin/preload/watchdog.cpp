#include "dropin/preload/watchdog.hpp"

#include "base/core/signals_blocked.hpp"
#include "dropin/observe/mapped_file.hpp"
#include "dropin/preload/arguments.hpp"
#include "engine/mpi/predefined.hpp"
#include "rubato/clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <utility>

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

namespace rubato::dropin {
namespace {

/// As of timeout(1).
constexpr int status_of_ended = 124;
/// Of calls that wait, in one report.
constexpr std::size_t most_calls = 4;

[[noreturn]] void end_program() {
    std::fflush(stderr);
    _exit(status_of_ended);
}

/// The function and line of a call, by librubato_places.so beside the drop-in. It is loaded when a place is first asked
/// for, because it needs libraries that the program need not have.
class call_places {
public:
    call_places() {
        static const char here = 0;
        Dl_info own{};
        if (dladdr(&here, &own) == 0 || own.dli_fname == nullptr) return;
        std::error_code none;
        const std::filesystem::path file = std::filesystem::canonical(own.dli_fname, none);
        const std::filesystem::path library = file.parent_path().parent_path() / "librubato_places.so";
        if (void* const loaded = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL))  // and it stays loaded
            find_ = reinterpret_cast<finder*>(dlsym(loaded, "rubato_find_place"));
    }

    /// "solve (solver.c:120)", or what is known without that library: "solve (libsolver.so+0x1a2b)".
    std::string text(const site& s) const {
        std::array<char, 1024> found{};
        if (find_ != nullptr && find_(s.module.c_str(), s.offset, s.symbol.c_str(), found.data(), found.size()))
            return found.data();
        const std::string address =
            fmt::format("{}+{:#x}", std::filesystem::path(s.module).filename().string(), s.offset);
        return s.symbol.empty() ? address : fmt::format("{} ({})", s.symbol, address);
    }

private:
    using finder = bool(const char* module, std::uint64_t offset, const char* symbol, char* to, std::size_t size);
    finder* find_ = nullptr;
};

}  // namespace

watchdog::watchdog(recorder& to, watched_run where, const watchdog_settings& how)
    : to_(to), where_(std::move(where)), how_(how) {
    for (const engine::predefined_type& t : engine::predefined_types())
        if (t.type != MPI_DATATYPE_NULL) sizes_[bits_of(t.type)] = size_of_type(t.type);
    if (where_.rank == 0) seen_.resize(static_cast<std::size_t>(where_.ranks), {.beaten = own_time()});
    to_.beat();  // from now on it is known that there is one
    const base::signals_blocked within;
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), "rubato watchdog");
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
        if (how_.ends && tells_to_end(part_of(where_.output, 0), where_.run)) end_program();
        return;
    }
    const time_ns now = own_time();
    leave_out_own_pause(now);
    if (++looks_ == 4) warn_of_unseen();
    look_at_all(now);
    begin_anew_after_stop(now);
    if (!somebody_waits(now)) {
        asked_.reset();
    } else if (!asked_) {
        asked_ = now;
    } else if (const ranks silent = silent_since(*asked_); silent.empty() || now - *asked_ >= how_.limit / 2) {
        report(now, silent);
        asked_.reset();
    }
    usual_look_ = std::exchange(last_look_took_, own_time() - now);
}

/// The whole program may have been stopped, or its machine. A look at many ranks takes time, too; of the last look it
/// is not known whether that was all it did.
void watchdog::leave_out_own_pause(time_ns now) {
    const time_ns since_last = now - std::exchange(last_look_, now);
    const time_ns usual = interval() + usual_look_;
    if (looks_ == 0 || since_last <= 2 * usual) return;
    const time_ns pause = since_last - usual;
    if (asked_) *asked_ += pause;
    for (seen_rank& each : seen_) each.beaten += pause;
    leave_out(pause, now);
}

void watchdog::leave_out(time_ns pause, time_ns now) {
    for (seen_rank& each : seen_)
        for (standing& s : each.threads) s.since = std::min(s.since + pause, now);
}

/// A rank that beats again after a gap was stopped, and others may have waited for it.
void watchdog::look_at_all(time_ns now) {
    time_ns pause{};
    for (std::int32_t r = 0; r < where_.ranks; ++r) {
        seen_rank& was = seen_[static_cast<std::size_t>(r)];
        const std::filesystem::path file = part_of(where_.output, r);
        const glimpse is = glimpse_of(file, where_.run);
        if (is.beats != was.beats) {
            const time_ns gap = now - std::exchange(was.beaten, now);
            // A beat and a look alternate, but for some jitter.
            const time_ns usual = interval() + usual_look_;
            if (was.beats != 0 && gap > 5 * usual / 2) pause = std::max(pause, gap - usual);
            was.beats = is.beats;
            was.locked = was.locked || is_being_written(file);
        }
        was.threads.resize(std::max(was.threads.size(), is.turns.size()));
        for (std::size_t i = 0; i < is.turns.size(); ++i) {
            standing& of_thread = was.threads[i];
            const turn_within& at = is.turns[i];
            // A rank that has not tested since the last look computes.
            const bool stays = of_thread.at.turn == at.turn && (!at.polls || of_thread.at.polls != at.polls);
            if (!stays) of_thread = {at, now};
            of_thread.at = at;
        }
    }
    if (pause > time_ns{}) leave_out(pause, now);
}

/// Whoever has waited for a process that was stopped has a whole limit once more.
void watchdog::begin_anew_after_stop(time_ns now) {
    if (stopped_.empty()) return;
    const ranks silent = silent_since(stopped_at_);
    if (std::ranges::any_of(stopped_, [&](std::int32_t r) { return silent.contains(r); })) return;
    stopped_.clear();
    said_.clear();
    for (seen_rank& each : seen_)
        for (standing& s : each.threads) s = {s.at, now};
}

/// The lock of a process that has ended is gone; not all file systems show locks. One that has never beaten has no
/// watchdog.
watchdog::ranks watchdog::silent_since(time_ns then) const {
    ranks silent;
    for (std::int32_t r = 1; r < where_.ranks; ++r) {
        const seen_rank& each = seen_[static_cast<std::size_t>(r)];
        if (each.beats == 0 || each.beaten > then) continue;
        if (!each.locked || is_being_written(part_of(where_.output, r))) silent.insert(r);
    }
    return silent;
}

void watchdog::warn_of_unseen() const {
    std::vector<std::int32_t> unseen;
    for (std::int32_t r = 0; r < where_.ranks; ++r)
        if (!look_at(part_of(where_.output, r), where_.run)) unseen.push_back(r);
    if (unseen.empty()) return;
    std::fputs(fmt::format("rubato: the watchdog cannot see {}: there is no file of theirs in '{}.parts'; name an "
                           "--output in a folder that all hosts share\n",
                           ranks_text(unseen), where_.output.string())
                   .c_str(),
               stderr);
}

bool watchdog::somebody_waits(time_ns now) const {
    return std::ranges::any_of(seen_, [&](const seen_rank& each) {
        return std::ranges::any_of(
            each.threads, [&](const standing& s) { return s.at.turn != 0 && !s.said && now - s.since >= how_.limit; });
    });
}

/// Clocks of hosts drift; how long a thread was seen within a call does not depend on them.
time_ns watchdog::age_of(const part& p, const part_thread& t, time_ns now, time_ns common) const {
    const time_ns by_clock = std::max(common - p.to_common(t.since), time_ns{});
    const auto& of_rank = seen_[static_cast<std::size_t>(p.who.rank)].threads;
    if (!t.inside) return by_clock;
    if (t.number >= of_rank.size() || of_rank[t.number].at.turn != t.turn) return time_ns{};  // it has moved since
    const time_ns seen = now - of_rank[t.number].since;
    return std::clamp(by_clock, seen, seen + interval());
}

void watchdog::report(time_ns now, const ranks& stopped) {
    std::vector<watched_process> all;
    time_ns common = now;
    for (std::int32_t r = 0; r < where_.ranks; ++r) {
        auto one = look_at(part_of(where_.output, r), where_.run);
        if (!one || one->who.rank != r) continue;
        if (r == 0) common = one->to_common(now);
        all.push_back({std::move(*one), {}, stopped.contains(r)});
        for (const part_thread& t : all.back().seen.threads)
            all.back().ages.push_back(age_of(all.back().seen, t, now, common));
    }
    std::string text;
    std::size_t shown = 0;
    const call_places places;
    for (const held_up_call& c :
         find_held_up(all, where_.ranks, how_.limit, [&](const site& s) { return places.text(s); })) {
        if (!said_.insert(c.which).second || ++shown > most_calls) continue;
        for (std::size_t i = 0; i < c.text.size(); ++i)
            text += fmt::format("rubato: watchdog: {}{}\n", i == 0 ? "" : "  ", c.text[i]);
    }
    if (shown > most_calls) text += fmt::format("rubato: watchdog: {} more calls wait\n", shown - most_calls);
    for (seen_rank& each : seen_)
        for (standing& s : each.threads) s.said = s.said || now - s.since >= how_.limit;
    if (!stopped.empty() && how_.ends && shown > 0)
        text += "rubato: watchdog: the program is not ended as long as a process is stopped\n";
    std::fputs(text.c_str(), stderr);
    stopped_ = stopped;
    stopped_at_ = now;
    if (!how_.ends || shown == 0 || !stopped.empty()) return;
    std::fputs("rubato: watchdog: the program is ended\n", stderr);
    to_.tell_to_end();
    if (where_.apart) to_.sync();
    end_program();
}

}  // namespace rubato::dropin
