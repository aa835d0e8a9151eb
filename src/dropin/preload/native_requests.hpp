// The program's non-blocking and persistent collectives that are under way: when they end is recorded. MPI libraries go
// on with their own only in calls, so while there are any the background thread makes some: no decision of other ranks
// is needed, and the calls stay native.
#pragma once

#include "dropin/observe/recorder.hpp"
#include "dropin/preload/watchdog.hpp"
#include "engine/execute/background_thread.hpp"

#include <mpi.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace rubato::dropin {

class native_requests {
public:
    /// Before the first one is noted; `comm` is a communicator of ours.
    void help_on(MPI_Comm comm) { comm_ = comm; }
    /// The thread makes no call any more.
    void end() noexcept;

    bool some() const { return count_.load(std::memory_order_relaxed) != 0; }
    struct under_way {
        sums* row = nullptr;             ///< where its end is recorded, if anywhere
        time_ns since{};                 ///< its start has returned
        bool helped = false;             ///< by the background thread
        std::optional<visit> visited{};  ///< what the watchdog is told while the program waits for it
    };
    void started(MPI_Request r, const under_way& what) noexcept;
    bool knows(MPI_Request r) noexcept;
    /// Of the first of them that is known and watched.
    std::optional<visit> waited_for(std::span<const MPI_Request> some) noexcept;
    /// By a call that began at `called` and took so long for it.
    void ended(MPI_Request r, time_ns called, time_ns took) noexcept;

private:
    engine::activity look() const;
    void refuse() noexcept;

    MPI_Comm comm_ = MPI_COMM_NULL;
    std::mutex mutex_{};
    std::unordered_map<MPI_Request, under_way> all_{};
    std::atomic<std::size_t> count_{0};
    std::atomic<std::size_t> helped_{0};
    bool refused_ = false;   // there is no thread
    std::mutex watching_{};  // not locked by what the thread does
    std::optional<engine::background::ticket> watched_{};
};

/// Of this process.
native_requests& started_natively();

/// Finds out which of them a call has completed.
class completed_requests {
public:
    /// The watchdog is told that the call waits for them or, if it does not, that it has tested them in vain.
    completed_requests(int count, const MPI_Request* requests, bool waits = false) noexcept;
    ~completed_requests();
    completed_requests(const completed_requests&) = delete;
    completed_requests& operator=(const completed_requests&) = delete;

private:
    const MPI_Request* now_;
    std::vector<MPI_Request> before_{};
    time_ns called_{};
    watchdog* dog_ = nullptr;  // which is told
    bool waits_ = false;
    std::optional<visit> visited_{};
};

}  // namespace rubato::dropin
