// State of the process: the background thread, and what MPI allows it to do.
#pragma once

#include "engine/execute/background_thread.hpp"
#include "engine/mpi/datatype.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace rubato::engine {

/// Those of a process that have something under way. Who waits for one of them goes on with the others meanwhile:
/// another rank may have to be done with those before it comes to what is waited for.
class mutual_help {
public:
    /// Makes progress without waiting; must not throw, join or leave.
    using helper = std::function<void()>;
    using ticket = std::list<helper>::iterator;

    ticket join(helper h) {
        const std::lock_guard lock(mutex_);
        return all_.insert(all_.end(), std::move(h));
    }
    /// When it returns, the helper is not running and never will again. It has nothing under way.
    void leave(ticket t) {
        const std::lock_guard lock(mutex_);
        all_.erase(t);
    }
    /// One who has joined has something under way now, or has nothing any more.
    void begin() { ++busy_; }
    void end() { --busy_; }
    /// Goes on with all others than `own`, the one who waits, if it has joined; false if they have nothing under way.
    bool help(const ticket* own, bool own_is_busy) {
        if (busy_.load(std::memory_order_relaxed) == (own_is_busy ? 1 : 0)) return false;
        const std::lock_guard lock(mutex_);
        for (auto t = all_.begin(); t != all_.end(); ++t)
            if (own == nullptr || t != *own) (*t)();
        return true;
    }

private:
    std::mutex mutex_{};
    std::list<helper> all_{};
    std::atomic<int> busy_{0};
};

bool is_finalized();

/// Of this process alone; errors return. The handlers of MPI's own communicators are the program's, and other threads
/// may set them at any time.
MPI_Comm own_self();

/// The background thread of this process, started when a communicator first needs it.
RUBATO_API background& background_thread();

/// The communicators of this process that have calls under way.
RUBATO_API mutual_help& under_way_here();

/// For who waits, again and again.
inline void let_others_go_on() {
    (void)under_way_here().help(nullptr, false);  // another rank may wait for what was started before,
    std::this_thread::yield();                    // and one that this rank waits for may need this core
}

inline void wait_for(MPI_Request& request) {
    for (int done = 0;;) {
        check(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done != 0) return;
        let_others_go_on();
    }
}

/// What is wrong with a variable of the background thread; empty if nothing is, or if nobody reads it.
std::string wrong_environment();

/// Whether the background thread may call MPI. If the user wants the thread and MPI's thread level does not allow it,
/// warns once per process if `warns` is set.
bool may_use_background(bool warns);

/// The watcher is called until stop_watch or, at the latest, the beginning of MPI_Finalize. Returns nothing, and warns,
/// if the thread cannot be bound to its core.
using watch_id = std::uint64_t;
std::optional<watch_id> watch_until_finalize(background::watcher w);
void stop_watch(watch_id id);

}  // namespace rubato::engine
