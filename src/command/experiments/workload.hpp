// Work that runs while collectives are measured.
#pragma once

#include "rubato/core.hpp"

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace rubato::command {

/// Arithmetic that touches no memory and calls nothing; or sleep, where ranks share cores: there, a computing rank
/// would keep other ranks, and MPI, from running.
class workload {
public:
    /// Finds out whether ranks share cores: if all of them compute at once, some wait. Collective.
    workload();

    bool sleeps() const { return sleeps_; }
    void run(std::int64_t units) const;
    /// The units of work that take this long if all ranks work at the same time. Collective.
    std::int64_t units_for(time_ns t) const;

private:
    bool sleeps_ = false;
};

/// Does one job at a time beside the thread that gives it, and sleeps otherwise.
class second_thread {
public:
    second_thread() = default;
    ~second_thread();
    second_thread(const second_thread&) = delete;
    second_thread& operator=(const second_thread&) = delete;

    void start(std::function<void()> job);
    /// Rethrows what the job has thrown.
    void wait();

private:
    void work();

    std::mutex mutex_{};
    std::condition_variable changed_{};
    std::function<void()> job_{};
    std::exception_ptr failure_{};
    bool ending_ = false;
    std::thread thread_{[this] { work(); }};
};

}  // namespace rubato::command
