#include "preload/native_requests.hpp"

#include "mpi/process.hpp"
#include "preload/lasting.hpp"

#include <cstdio>
#include <new>

namespace rubato::preload {

native_requests& started_natively() {
    static lasting<native_requests> all;
    return all.value;
}

/// Any call makes MPI go on with everything.
activity native_requests::look() const {
    if (!some()) return activity::nothing;
    int found = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, MPI_STATUS_IGNORE);
    return activity::listening;
}

void native_requests::started(MPI_Request r) noexcept {
    const std::lock_guard lock(mutex_);
    if (refused_ || r == MPI_REQUEST_NULL) return;
    try {
        all_.insert(r);
        count_ = all_.size();
        if (!watched_)
            watched_ = mpi::background_thread().watch([this] { return look(); });
        else
            mpi::background_thread().wake();
    } catch (const std::exception& e) {  // no thread, or no memory: they go on in calls alone
        refused_ = true;
        all_.clear();
        count_ = 0;
        std::fprintf(stderr, "rubato: %s; nothing advances in the background\n", e.what());
    }
}

void native_requests::ended(MPI_Request r) noexcept {
    const std::lock_guard lock(mutex_);
    all_.erase(r);
    count_ = all_.size();
}

void native_requests::end() noexcept {
    std::optional<background::ticket> watched;
    {
        const std::lock_guard lock(mutex_);
        refused_ = true;
        watched.swap(watched_);
    }
    if (watched) mpi::background_thread().leave(*watched);
}

completed_requests::completed_requests(int count, const MPI_Request* requests) noexcept : now_(requests) {
    if (!started_natively().some() || requests == nullptr || count <= 0) return;
    try {
        before_.assign(requests, requests + count);
    } catch (const std::bad_alloc&) {
        // The thread looks after them for longer than needed.
    }
}

completed_requests::~completed_requests() {
    for (std::size_t i = 0; i < before_.size(); ++i)
        if (before_[i] != MPI_REQUEST_NULL && now_[i] == MPI_REQUEST_NULL) started_natively().ended(before_[i]);
}

}  // namespace rubato::preload
