#include "bench/workload.hpp"

#include "mpi/datatype.hpp"
#include "rubato/clock.hpp"

#include <mpi.h>

#include <algorithm>

namespace rubato::bench {

void compute(std::int64_t units) {
    constexpr int steps = 8;
    double x = 0.5;
    for (std::int64_t i = 0; i < units * steps; ++i) x = 3.75 * x * (1 - x);
    volatile double kept = x;
    (void)kept;
}

std::int64_t units_for(time_ns t) {
    constexpr std::int64_t first = 1024;
    constexpr std::int64_t last = std::int64_t{1} << 40;
    constexpr int attempts = 3;  // what disturbs one must not make the work too short
    for (std::int64_t units = first;; units *= 2) {
        std::int64_t best = INT64_MAX;
        for (int i = 0; i < attempts; ++i) {
            mpi::check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
            const time_ns begin = own_time();
            compute(units);
            std::int64_t longest = (own_time() - begin).count();
            mpi::check(MPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
            best = std::min(best, longest);
        }
        if (best < t.count() && units < last) continue;
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

}  // namespace rubato::bench
