// A thread that makes communication progress while its process computes.
#pragma once

#include "rubato/core.hpp"

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <thread>

namespace rubato {

/// What a watcher found: nothing can come, something may come, something came.
enum class activity : std::uint8_t { nothing, listening, moving };

/// Calls its watchers again and again: soon after something came, less and less often while nothing does, and not at
/// all while nothing can come. Watchers must not throw and must not call its members.
class RUBATO_API background {
public:
    /// When a process uses its thread. The owner of the thread decides; the thread itself does not look at it.
    enum class use : std::uint8_t {
        automatic,  ///< where MPI was started with MPI_THREAD_MULTIPLE
        wanted,     ///< likewise, with a warning where MPI was not
        never,
    };
    struct settings {
        use when = use::automatic;
        time_ns interval = std::chrono::microseconds(100);  ///< between looks while something comes
        time_ns longest = std::chrono::milliseconds(1);     ///< while nothing comes, at most
        std::optional<int> core{};                          ///< the core that the thread is bound to
    };
    /// The variables that read_setting knows.
    static std::span<const std::string_view> variables();
    /// Reads RUBATO_BACKGROUND, RUBATO_BACKGROUND_CORE or RUBATO_BACKGROUND_INTERVAL; false if it is none of them.
    /// Throws if the value is wrong.
    static bool read_setting(settings& into, std::string_view variable, std::string_view value);

    using watcher = std::function<activity()>;
    using ticket = std::list<watcher>::iterator;

    /// The thread is started with the first watcher.
    explicit background(settings how) : how_(how) {}
    background() : background(settings{}) {}
    ~background();
    background(const background&) = delete;
    background& operator=(const background&) = delete;

    /// Throws if the thread cannot be bound to its core.
    ticket watch(watcher w);
    /// When it returns, the watcher is not running and never will again.
    void leave(ticket t);
    /// Something can come now.
    void wake();

    /// Processor time of the thread since it was started.
    time_ns processor_time();
    std::uint64_t looks();

private:
    void start();
    void run();

    settings how_;
    std::mutex looking_{};  // held while watchers run
    std::list<watcher> watchers_{};
    std::uint64_t looks_ = 0;
    std::thread thread_{};
    std::mutex mutex_{};  // guards the members below
    std::condition_variable changed_{};
    bool awake_ = false;
    bool ending_ = false;
};

}  // namespace rubato
