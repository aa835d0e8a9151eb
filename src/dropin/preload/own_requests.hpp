// The generalised requests of the program's non-blocking calls that Rubato makes.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace rubato::dropin {

/// MPI may call back at the very end, so the object is never destroyed; making it allocates nothing.
template <class T>
union never_destroyed {
    T value;
    never_destroyed() : value() {}
    ~never_destroyed() {}  // NOLINT(modernize-use-equals-default): a default one would be deleted
    never_destroyed(const never_destroyed&) = delete;
    never_destroyed& operator=(const never_destroyed&) = delete;
};

class requests_of_ours {
public:
    void add(MPI_Request r) {
        const std::lock_guard lock(mutex_);
        all_.insert_or_assign(r, false);
        ++under_way_;
        known_ = all_.size();
    }
    /// Its call has ended. To be called before MPI knows, which may free the request then.
    void note_end(MPI_Request r) {
        const std::lock_guard lock(mutex_);
        all_[r] = true;
        --under_way_;
    }
    /// MPI has freed it.
    void remove(MPI_Request r) {
        const std::lock_guard lock(mutex_);
        all_.erase(r);
        known_ = all_.size();
    }

    /// Whether its call has ended; nothing if it is none of these.
    std::optional<bool> has_ended(MPI_Request r) {
        const std::lock_guard lock(mutex_);
        const auto found = all_.find(r);
        return found != all_.end() ? std::optional(found->second) : std::nullopt;
    }
    /// While some are under way, calls that wait for or test requests go on with them; the background thread alone
    /// would do so later.
    bool some_under_way() const { return under_way_.load(std::memory_order_relaxed) != 0; }
    /// Those that have ended, and that MPI has not freed, count, too.
    bool some_known() const { return known_.load(std::memory_order_relaxed) != 0; }

private:
    std::atomic<std::size_t> known_{0};
    std::atomic<int> under_way_{0};
    std::mutex mutex_{};
    std::unordered_map<MPI_Request, bool> all_{};  // whether it has ended
};

/// Of this process.
inline requests_of_ours& own_requests() {
    static never_destroyed<requests_of_ours> all;
    return all.value;
}

}  // namespace rubato::dropin
