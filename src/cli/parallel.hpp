// Independent pieces of work on all cores.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace rubato::cli {

/// Calls work(0), work(1), ... once for each of the weights, which are relative durations. On a terminal, shows the
/// progress and the elapsed time after two seconds. An exception in one of them is thrown when all have ended.
template <class Work>
void for_each_in_parallel(std::span<const double> weights, std::string_view doing, Work work) {
    using namespace std::chrono_literals;
    const std::size_t count = weights.size();
    const double all = std::accumulate(weights.begin(), weights.end(), 0.);
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t done = 0;
    double weight_done = 0;
    std::exception_ptr failure;
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t) {
        threads.emplace_back([&] {
            for (std::size_t i = next++; i < count; i = next++) {
                std::exception_ptr thrown;
                try {
                    work(i);
                } catch (...) {
                    thrown = std::current_exception();
                }
                const std::lock_guard lock(mutex);
                if (!failure) failure = thrown;
                ++done;
                weight_done += weights[i];
                changed.notify_one();
            }
        });
    }
    const auto start = std::chrono::steady_clock::now();
    const bool terminal = isatty(STDERR_FILENO) != 0;
    bool shown = false;
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, 200ms, [&] { return done == count; })) {
        const auto passed = std::chrono::steady_clock::now() - start;
        if (!terminal || passed < 2s) continue;
        const std::string share = count > 1 && all > 0 ? fmt::format("{:.0f} % ", 100 * weight_done / all) : "";
        fmt::print(stderr, "\r\033[K{}{}, {} s", share, doing, passed / 1s);
        shown = true;
    }
    if (shown) fmt::print(stderr, "\r\033[K");
    if (failure) std::rethrow_exception(failure);
}

/// For calls of about equal duration.
template <class Work>
void for_each_in_parallel(std::size_t count, std::string_view doing, Work work) {
    for_each_in_parallel(std::vector<double>(count, 1.), doing, std::move(work));
}

}  // namespace rubato::cli
