#include "command/cli/parallel.hpp"

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace rubato::command {
namespace {

using namespace std::chrono_literals;

}  // namespace

progress_line::progress_line(bool wanted) : wanted_(wanted && isatty(STDERR_FILENO) != 0) {}

void progress_line::clear() {
    if (std::exchange(shown_, false)) fmt::print(stderr, "\r\033[K");
}

void progress_line::say(const std::string& text) {
    if (!wanted_ || clock::now() - start_ < 2s) return;
    shown_ = true;
    fmt::print(stderr, "\r\033[K{}", text);
}

void progress_line::say(double done, double all, std::string_view doing) {
    const clock::time_point now = clock::now();
    if (now - last_ < 200ms) return;
    last_ = now;
    const std::string share = all > 0 ? fmt::format("{:.0f} % ", 100 * done / all) : "";
    say(fmt::format("{}{}, {} s", share, doing, (now - start_) / 1s));
}

void for_each_in_parallel(std::span<const double> weights, std::string_view doing,
                          const std::function<void(std::size_t)>& work) {
    const std::size_t count = weights.size();
    const double all = count > 1 ? std::accumulate(weights.begin(), weights.end(), 0.) : 0;
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
    progress_line shown;
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, 200ms, [&] { return done == count; })) shown.say(weight_done, all, doing);
    shown.clear();
    if (failure) std::rethrow_exception(failure);
}

void for_each_in_parallel(std::size_t count, std::string_view doing, const std::function<void(std::size_t)>& work) {
    for_each_in_parallel(std::vector<double>(count, 1.), doing, work);
}

}  // namespace rubato::command
