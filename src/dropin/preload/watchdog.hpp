// Says on rank 0's standard error who has not come when a collective waits for long, also when no rank calls MPI any
// more. A thread in each process explains where the process is, in its part file; rank 0's reads those of all ranks, on
// other hosts through a shared folder. It needs no MPI.
#pragma once

#include "dropin/observe/held_up.hpp"
#include "dropin/observe/recorder.hpp"
#include "dropin/preload/settings.hpp"

#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

namespace rubato::dropin {

/// What a watchdog watches, as one of its processes sees it.
struct watched_run {
    std::filesystem::path output{};
    std::int32_t rank = 0;
    std::int32_t ranks = 1;
    bool apart = false;     ///< ranks are on several hosts
    std::uint64_t run = 0;  ///< as in observe::recording
};

class watchdog {
public:
    /// Asks MPI for the sizes of datatypes, here and not in the thread. Throws if there can be no thread.
    watchdog(recorder& to, watched_run where, const watchdog_settings& how);
    /// Ends the thread.
    ~watchdog();

    void enter(const visit& v, time_ns now) noexcept {
        if (here == nullptr && !claim()) return;
        here->enter(v, now);
    }
    void leave(time_ns now) noexcept {
        if (here != nullptr) here->leave(now);
    }
    /// A test has found that the call has not ended.
    void poll(const visit& v, time_ns now) noexcept {
        if (here == nullptr && !claim()) return;
        here->poll(v, now);
    }
    /// A test has found what it looked for.
    void stop_polling(time_ns now) noexcept {
        if (here != nullptr && here->polls()) here->leave(now);
    }

private:
    bool claim() noexcept;
    void run();
    void look();
    using ranks = std::set<std::int32_t>;
    void leave_out_own_pause(time_ns now);
    /// Nobody has waited in that time.
    void leave_out(time_ns pause, time_ns now);
    void look_at_all(time_ns now);
    void begin_anew_after_stop(time_ns now);
    /// Whether a thread of any rank has been within a call for long, and nothing was said of that.
    bool somebody_waits(time_ns now) const;
    /// Those that have not beaten since, and have not ended.
    ranks silent_since(time_ns then) const;
    void report(time_ns now, const ranks& stopped);
    time_ns age_of(const part& p, const part_thread& t, time_ns now, time_ns common) const;
    void warn_of_unseen() const;
    time_ns interval() const;

    inline static constinit thread_local whereabouts* here = nullptr;
    inline static constinit thread_local bool refused = false;

    recorder& to_;
    watched_run where_;
    watchdog_settings how_;
    std::map<std::uint64_t, std::int64_t> sizes_{};  // of datatypes, by their handles

    // Of rank 0: where threads were, and since when they were seen there.
    struct standing {
        turn_within at{};
        time_ns since{};
        bool said = false;
    };
    struct seen_rank {
        std::vector<standing> threads{};
        std::uint64_t beats = 0;
        time_ns beaten{};     // when that was seen to change
        bool locked = false;  // its file was, as seen from here
    };
    std::vector<seen_rank> seen_{};
    std::set<call_id> said_{};
    int looks_ = 0;
    time_ns last_look_{};
    time_ns last_look_took_{};
    time_ns usual_look_{};
    // Since when somebody has waited for the limit: before anything is said, all must have shown since then that they
    // run.
    std::optional<time_ns> asked_{};
    ranks stopped_{};  // of which it was said
    time_ns stopped_at_{};

    std::mutex mutex_{};
    std::condition_variable ends_{};
    bool ending_ = false;
    std::thread thread_{};
};

}  // namespace rubato::dropin
