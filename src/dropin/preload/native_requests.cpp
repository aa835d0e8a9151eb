#include "dropin/preload/native_requests.hpp"

#include "dropin/preload/own_requests.hpp"
#include "dropin/preload/persistent.hpp"
#include "dropin/preload/session.hpp"
#include "engine/mpi/process.hpp"
#include "rubato/clock.hpp"

#include <algorithm>
#include <cstdio>
#include <new>

namespace rubato::dropin {

native_requests& started_natively() {
    static never_destroyed<native_requests> all;
    return all.value;
}

/// Any call makes MPI go on with everything.
engine::activity native_requests::look() const {
    if (helped_.load(std::memory_order_relaxed) == 0) return engine::activity::nothing;
    int found = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, MPI_STATUS_IGNORE);
    return engine::activity::listening;
}

void native_requests::started(MPI_Request r, const under_way& what) noexcept {
    if (r == MPI_REQUEST_NULL) return;
    try {
        {
            const std::lock_guard lock(mutex_);
            const auto [at, added] = all_.try_emplace(r);
            if (!added && at->second.helped) --helped_;  // its end was not seen
            at->second = what;
            at->second.helped &= !refused_;
            count_ = all_.size();
            if (!at->second.helped) return;
            ++helped_;
        }
        const std::lock_guard lock(watching_);
        if (!watched_)
            watched_ = engine::background_thread().watch([this] { return look(); });
        else
            engine::background_thread().wake();
    } catch (const std::exception& e) {
        refuse();
        std::fprintf(stderr, "rubato: %s; nothing advances in the background\n", e.what());
    }
}

/// No thread, or no memory: they go on in calls alone.
void native_requests::refuse() noexcept {
    const std::lock_guard lock(mutex_);
    refused_ = true;
    for (auto& [request, known] : all_) known.helped = false;
    helped_ = 0;
}

bool native_requests::knows(MPI_Request r) noexcept {
    const std::lock_guard lock(mutex_);
    return all_.contains(r);
}

std::optional<visit> native_requests::waited_for(std::span<const MPI_Request> some) noexcept {
    const std::lock_guard lock(mutex_);
    for (const MPI_Request r : some)
        if (const auto found = all_.find(r); found != all_.end() && found->second.visited) return found->second.visited;
    return std::nullopt;
}

void native_requests::ended(MPI_Request r, time_ns called, time_ns took) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(r);
    if (found == all_.end()) return;
    const under_way& was = found->second;
    if (was.helped) --helped_;
    if (was.row != nullptr) add_end(*was.row, std::max(called - was.since, time_ns{}), took);
    all_.erase(found);
    count_ = all_.size();
}

void native_requests::end() noexcept {
    {
        const std::lock_guard lock(mutex_);
        refused_ = true;
        all_.clear();  // the recorder ends, too
        count_ = helped_ = 0;
    }
    const std::lock_guard lock(watching_);
    if (watched_) engine::background_thread().leave(*watched_);
    watched_.reset();
}

completed_requests::completed_requests(int count, const MPI_Request* requests, bool waits) noexcept : now_(requests) {
    if (!started_natively().some() || requests == nullptr || count <= 0) return;
    try {
        before_.assign(requests, requests + count);
        called_ = own_time();
        session* const now = running.load(std::memory_order_acquire);
        if (now == nullptr || now->dog() == nullptr) return;
        visited_ = started_natively().waited_for(before_);
        if (!visited_) return;
        dog_ = now->dog();
        waits_ = waits;
        if (waits)
            dog_->enter(*visited_, called_);
        else
            visited_->in = waiting::tests_of;
    } catch (const std::bad_alloc&) {
        // The thread looks after them for longer than needed, and their ends are not recorded.
    }
}

completed_requests::~completed_requests() {
    if (dog_ != nullptr && waits_) dog_->leave(own_time());
    const auto is_completed = [this](std::size_t i) {
        if (before_[i] == MPI_REQUEST_NULL || now_[i] == MPI_REQUEST_NULL) return before_[i] != now_[i];
        return started_natively().knows(before_[i]) && is_idle(before_[i]);
    };
    time_ns::rep completed = 0;
    for (std::size_t i = 0; i < before_.size(); ++i) {
        if (is_completed(i))
            ++completed;
        else
            before_[i] = MPI_REQUEST_NULL;
    }
    if (completed == 0) {
        if (dog_ != nullptr && !waits_) dog_->poll(*visited_, called_);
        return;
    }
    const time_ns now = own_time();
    if (dog_ != nullptr && !waits_) dog_->stop_polling(now);
    const time_ns each = (now - called_) / completed;
    for (const MPI_Request r : before_)
        if (r != MPI_REQUEST_NULL) started_natively().ended(r, called_, each);
}

}  // namespace rubato::dropin
