#include "command/experiments/workload.hpp"

#include "command/experiments/world.hpp"
#include "engine/mpi/datatype.hpp"
#include "rubato/clock.hpp"

#include <time.h>
#include <algorithm>

namespace rubato::command {

namespace {

constexpr int attempts = 3;  // so that a disturbance of one does not matter
constexpr std::int64_t first_units = 1024;
constexpr std::int64_t most_units = std::int64_t{1} << 40;

void compute(std::int64_t units) {
    constexpr int steps = 8;
    double x = 0.5;
    for (std::int64_t i = 0; i < units * steps; ++i) x = 3.75 * x * (1 - x);
    volatile double kept = x;
    (void)kept;
}

time_ns processor_time() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

struct spent {
    std::int64_t longest = INT64_MAX;  ///< time of the slowest rank, in nanoseconds
    std::int64_t waiting = INT64_MAX;  ///< time waiting for a core, of the rank that waits longest
};

/// The best of some attempts of all ranks at once. Collective.
spent compute_together(std::int64_t units) {
    spent best;
    for (int i = 0; i < attempts; ++i) {
        engine::check(MPI_Barrier(world), "MPI_Barrier");
        const time_ns begin = own_time();
        const time_ns before = processor_time();
        compute(units);
        const time_ns used = processor_time() - before;
        const time_ns took = own_time() - begin;
        best.longest = std::min(best.longest, among_ranks(took.count(), MPI_MAX));
        best.waiting = std::min(best.waiting, among_ranks((took - used).count(), MPI_MAX));
    }
    return best;
}

}  // namespace

workload::workload() {
    // Longer than a scheduler lets one thread run while others wait.
    constexpr std::int64_t long_enough = 50'000'000;
    constexpr std::int64_t least_share = 5;  // a fifth of the time
    for (std::int64_t units = first_units; units < most_units; units *= 2) {
        const spent s = compute_together(units);
        sleeps_ = s.waiting > s.longest / least_share;
        if (s.longest > long_enough) return;
    }
}

void workload::run(std::int64_t units) const {
    if (sleeps_)
        std::this_thread::sleep_for(time_ns(units));
    else
        compute(units);
}

std::int64_t workload::units_for(time_ns t) const {
    if (sleeps_) return std::max<std::int64_t>(1, t.count());
    for (std::int64_t units = first_units;; units *= 2) {
        const std::int64_t best = compute_together(units).longest;
        if (best < t.count() && units < most_units) continue;
        const double share = static_cast<double>(t.count()) / static_cast<double>(std::max<std::int64_t>(1, best));
        return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(units) * share));
    }
}

second_thread::~second_thread() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void second_thread::start(std::function<void()> job) {
    {
        const std::lock_guard lock(mutex_);
        job_ = std::move(job);
    }
    changed_.notify_all();
}

void second_thread::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !job_; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void second_thread::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return ending_ || job_; });
        if (ending_) return;
        lock.unlock();
        std::exception_ptr failure;
        try {
            job_();
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        failure_ = failure;
        job_ = nullptr;
        changed_.notify_all();
    }
}

}  // namespace rubato::command
