#include "engine/execute/background_thread.hpp"

#include "base/core/signals_blocked.hpp"

#include <fmt/format.h>

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <future>

namespace rubato::engine {
namespace {

/// Binds the calling thread.
bool stay_on(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (core >= 0 && core < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(core), &set);
    return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

/// On Linux each thread has its own.
bool be_nice(int niceness) { return setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), niceness) == 0; }

constexpr std::array<std::string_view, 4> settings_read{"RUBATO_BACKGROUND", "RUBATO_BACKGROUND_CORE",
                                                        "RUBATO_BACKGROUND_INTERVAL", "RUBATO_BACKGROUND_NICE"};

[[noreturn]] void refuse(std::string_view variable, std::string_view value, std::string_view reason,
                         std::string_view way_out) {
    throw error(fmt::format("{}={}", variable, value), reason, way_out);
}

background_use read_use(std::string_view variable, std::string_view value) {
    if (value == "auto") return background_use::automatic;
    if (value == "on") return background_use::wanted;
    if (value == "off") return background_use::never;
    refuse(variable, value, "it says whether a thread works for ranks that are late", "give auto, on or off");
}

time_ns read_interval(std::string_view variable, std::string_view value) {
    time_ns interval{};
    try {
        interval = parse_time(value);
    } catch (const error&) {
        // Treated as a wrong value.
    }
    if (interval <= time_ns{}) refuse(variable, value, "it is the time between two looks", "give a time such as 100us");
    return interval;
}

}  // namespace

std::span<const std::string_view> background::variables() { return settings_read; }

bool background::read_setting(background_settings& into, std::string_view variable, std::string_view value) {
    if (variable == settings_read[0]) {
        into.when = read_use(variable, value);
    } else if (variable == settings_read[1]) {
        into.core.reset();
        if (value != "none") into.core = static_cast<int>(parse_integer(value, variable, 0, 4095));
    } else if (variable == settings_read[2]) {
        into.interval = read_interval(variable, value);
        into.longest = std::max(into.longest, into.interval);
    } else if (variable == settings_read[3]) {
        into.niceness.reset();
        if (value != "none") into.niceness = static_cast<int>(parse_integer(value, variable, -20, 19));
    } else {
        return false;
    }
    return true;
}

background::~background() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

background::ticket background::watch(watcher w) {
    const std::lock_guard lock(looking_);
    if (!thread_.joinable()) start();
    watchers_.push_back(std::move(w));
    wake();
    return std::prev(watchers_.end());
}

void background::start() {
    struct settled {
        bool core, niceness;
    };
    std::promise<settled> promise;
    std::future<settled> answer = promise.get_future();
    {
        const base::signals_blocked within;
        thread_ = std::thread([this, said = std::move(promise)]() mutable {
            const settled is{!how_.core || stay_on(*how_.core), !how_.niceness || be_nice(*how_.niceness)};
            said.set_value(is);
            if (is.core && is.niceness) run();
        });
    }
    pthread_setname_np(thread_.native_handle(), "rubato");
    const settled is = answer.get();
    if (is.core && is.niceness) return;
    thread_.join();
    if (!is.core)
        throw error(fmt::format("core {} for the background thread", *how_.core), "this process may not use it",
                    "name a core that it may use ('taskset -p' tells), or none");
    throw error(fmt::format("niceness {} of the background thread", *how_.niceness),
                "this process may not come before others", "give 0 to 19, or none");
}

void background::leave(ticket t) {
    const std::lock_guard lock(looking_);
    watchers_.erase(t);
}

void background::wake() {
    {
        const std::lock_guard lock(mutex_);
        awake_ = true;
    }
    changed_.notify_all();
}

time_ns background::processor_time() {
    const std::lock_guard lock(looking_);
    clockid_t clock{};
    timespec t{};
    if (!thread_.joinable() || pthread_getcpuclockid(thread_.native_handle(), &clock) != 0 ||
        clock_gettime(clock, &t) != 0)
        return {};
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

std::uint64_t background::looks() {
    const std::lock_guard lock(looking_);
    return looks_;
}

/// Other ranks may wait for what the watcher does.
activity background::look(const watcher& w) noexcept {
    try {
        return w();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "rubato: in the background: %s\n", e.what());
        std::abort();
    }
}

void background::run() {
    prctl(PR_SET_TIMERSLACK, 1000);  // else a sleep takes 50us more than asked for
    time_ns pause = how_.interval;
    for (;;) {
        activity seen = activity::nothing;
        {
            const std::lock_guard lock(looking_);
            for (const watcher& w : watchers_) seen = std::max(seen, look(w));
            ++looks_;
        }
        pause = seen == activity::moving ? how_.interval : std::min(2 * pause, how_.longest);
        std::unique_lock lock(mutex_);
        const auto called = [this] { return ending_ || awake_; };
        if (seen == activity::nothing)
            changed_.wait(lock, called);
        else
            changed_.wait_for(lock, pause, called);
        if (ending_) return;
        if (awake_) pause = how_.interval;
        awake_ = false;
    }
}

}  // namespace rubato::engine
