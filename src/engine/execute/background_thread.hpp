// A thread that looks after what may come while its process computes.
//
// One per process. It looks again soon after something moved, less and less often, down to once per millisecond, while
// nothing does, and sleeps while nothing can come. It takes a communicator's lock only if it is free: a call that holds
// the lock makes progress itself. An attribute of MPI_COMM_SELF makes it sleep from MPI_Finalize on. In the drop-in it
// looks at a communicator only while a plan in use begins early or calls roll.
#pragma once

#include "rubato/background.hpp"

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <thread>

namespace rubato::engine {

/// What looking has shown: nothing can come, something may come, something came.
enum class activity : std::uint8_t { nothing, listening, moving };

/// Looks again and again: soon after something came, more and more rarely while nothing does, and not at all while
/// nothing can come. What a watcher throws ends the program. Not to be used from within a watcher.
class RUBATO_API background {
public:
    /// The variables that read_setting knows.
    static std::span<const std::string_view> variables();
    /// Reads one of these; false if it is none of them. Throws if the value is wrong.
    static bool read_setting(background_settings& into, std::string_view variable, std::string_view value);

    using watcher = std::function<activity()>;
    using ticket = std::list<watcher>::iterator;

    /// The thread is started with the first watcher.
    explicit background(background_settings how) : how_(how) {}
    background() : background(background_settings{}) {}
    ~background();
    background(const background&) = delete;
    background& operator=(const background&) = delete;

    /// Throws if the thread cannot stay on its core, or have its niceness.
    ticket watch(watcher w);
    /// When it returns, the watcher is not running and never will again.
    void leave(ticket t);
    /// Something can come now.
    void wake();

    /// Of the thread, since it was started.
    time_ns processor_time();
    std::uint64_t looks();

private:
    void start();
    static activity look(const watcher& w) noexcept;
    void run();

    background_settings how_;
    std::mutex looking_{};  // held while watchers run
    std::list<watcher> watchers_{};
    std::uint64_t looks_ = 0;
    std::thread thread_{};
    std::mutex mutex_{};  // of what follows
    std::condition_variable changed_{};
    bool awake_ = false;
    bool ending_ = false;
};

}  // namespace rubato::engine
