// The program's own non-blocking collectives that are under way. MPI libraries go on with them only in calls, so while
// there are any the background thread makes some: no decision of other ranks is needed, and the calls stay native.
#pragma once

#include "engine/background_thread.hpp"

#include <mpi.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <vector>

namespace rubato::preload {

class native_requests {
public:
    /// Before the first one is noted; `comm` is a communicator of ours.
    void help_on(MPI_Comm comm) { comm_ = comm; }
    /// The thread makes no call any more.
    void end() noexcept;

    bool some() const { return count_.load(std::memory_order_relaxed) != 0; }
    void started(MPI_Request r) noexcept;
    void ended(MPI_Request r) noexcept;

private:
    activity look() const;

    MPI_Comm comm_ = MPI_COMM_NULL;
    std::mutex mutex_{};
    std::unordered_set<MPI_Request> all_{};
    std::atomic<std::size_t> count_{0};
    std::optional<background::ticket> watched_{};
    bool refused_ = false;  // there is no thread
};

/// Of this process.
native_requests& started_natively();

/// Finds out which of them a call has completed.
class completed_requests {
public:
    completed_requests(int count, const MPI_Request* requests) noexcept;
    ~completed_requests();
    completed_requests(const completed_requests&) = delete;
    completed_requests& operator=(const completed_requests&) = delete;

private:
    const MPI_Request* now_;
    std::vector<MPI_Request> before_{};
};

}  // namespace rubato::preload
