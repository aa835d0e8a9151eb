// Those of a process that have something under way. Who waits for one of them goes on with the others meanwhile:
// another rank may have to be done with those before it comes to what is waited for.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>

namespace rubato {

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

}  // namespace rubato
