// Work for the processor alone, by which others can be measured.
#pragma once

#include "rubato/core.hpp"

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace rubato::bench {

/// Arithmetic that touches no memory and calls nothing.
void compute(std::int64_t units);
/// So many units take all ranks of MPI_COMM_WORLD this long if they compute at the same time. Collective.
std::int64_t units_for(time_ns t);

/// Does one job at a time beside the thread that gives it, and sleeps otherwise.
class second_thread {
public:
    second_thread() = default;
    ~second_thread();
    second_thread(const second_thread&) = delete;
    second_thread& operator=(const second_thread&) = delete;

    void start(std::function<void()> job);
    /// Throws what the job has thrown.
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

}  // namespace rubato::bench
