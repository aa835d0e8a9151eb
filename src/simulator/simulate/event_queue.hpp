// Events in the order of windows of time.
//
// A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990): as no event is pushed for a window that has passed, it is enough
// to keep events apart by the highest bit in which their window differs from the present one. Bits above it are equal,
// so lower buckets come first; when a bucket's turn comes, its events go down into lower ones. Every move runs through
// memory in order, where a binary heap of a million events misses the cache at every level.
#pragma once

#include "base/core/signals_blocked.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace rubato::simulator {

struct event {
    std::int64_t time;
    std::uint32_t rank;
    std::uint32_t what;

    // A step of the rank can run, or it hears of the other side of the step's message. At one time, the first step of
    // the rank comes first.
    static std::uint32_t runs(std::uint32_t step) { return 2 * step; }
    static std::uint32_t heard(std::uint32_t step) { return 2 * step + 1; }
    static bool is_heard(std::uint32_t what) { return (what & 1U) != 0; }
    static std::uint32_t step_of(std::uint32_t what) { return what / 2; }
};

/// `Event` has a time.
template <class Event>
class radix_heap {
public:
    /// Windows of 2^shift ns.
    explicit radix_heap(unsigned shift) : shift_(shift) {}

    bool is_now(std::int64_t time) const { return time >> shift_ == now_; }

    [[gnu::always_inline]] inline void push(const Event& e) {
        assert(e.time >> shift_ >= now_);
        const std::uint64_t differs = static_cast<std::uint64_t>(e.time >> shift_) ^ static_cast<std::uint64_t>(now_);
        const auto bucket = static_cast<std::size_t>(std::bit_width(differs));
        buckets_[bucket].push_back(e);
        if (bucket > 0) occupied_ |= std::uint64_t{1} << (bucket - 1);
    }

    /// The window of the next events; those that were pushed for the present one come first. `never` if there are none.
    std::int64_t next_window() const {
        if (!buckets_[0].empty()) return now_;
        if (occupied_ == 0) return never;
        return std::ranges::min_element(buckets_[lowest()], {}, &Event::time)->time >> shift_;
    }
    static constexpr std::int64_t never = INT64_MAX;
    /// Takes the events of that window, which is the next or, if none are, before it.
    void take(std::int64_t window, std::vector<Event>& events) {
        if (buckets_[0].empty()) advance(window);
        events.clear();
        std::swap(events, buckets_[0]);
    }

private:
    std::size_t lowest() const { return static_cast<std::size_t>(std::countr_zero(occupied_)) + 1; }

    void advance(std::int64_t window) {
        now_ = window;
        if (occupied_ == 0) return;
        moving_.swap(buckets_[lowest()]);
        occupied_ &= occupied_ - 1;
        for (const Event& e : moving_) push(e);
        moving_.clear();
    }

    unsigned shift_;
    std::int64_t now_ = INT64_MIN;
    std::array<std::vector<Event>, 65> buckets_{};  // the first has those of now
    std::vector<Event> moving_{};
    std::uint64_t occupied_ = 0;  // a bit for each bucket but the first
};

using event_queue = radix_heap<event>;

// Parts of a simulation, each on a core of its own, that handle one window of time after the other.
//
// A part has begin(), next_window(), run(window) and hear_from(other, i), which takes what another part has told it,
// the i-th.
//
// An event is put into the queue of windows and, in its window, into a small heap of its rank: the memory of each rank
// is touched once. Several cores have some of the ranks each and exchange events after every window; the result does
// not depend on their number. A window is handled again until nothing is left in it.

template <class Part>
void run_alone(Part& all) {
    all.begin();
    for (;;) {
        const std::int64_t window = all.next_window();
        if (window == event_queue::never) return;
        all.run(window);
    }
}

template <class Part>
void run_together(std::vector<Part>& parts) {
    std::int64_t window = event_queue::never;
    std::vector<std::exception_ptr> failures(parts.size());
    std::atomic<bool> failed = false;
    const auto choose_window = [&]() noexcept {
        window = event_queue::never;
        if (failed) return;
        for (Part& p : parts) window = std::min(window, p.next_window());
    };
    std::barrier handled(static_cast<std::ptrdiff_t>(parts.size()));
    std::barrier heard(static_cast<std::ptrdiff_t>(parts.size()), choose_window);
    const auto work = [&](std::size_t me) {
        const auto attempt = [&](auto what) {
            try {
                what();
            } catch (...) {
                failures[me] = std::current_exception();
                failed = true;
            }
        };
        attempt([&] { parts[me].begin(); });
        for (;;) {
            handled.arrive_and_wait();
            attempt([&] {
                for (Part& other : parts) parts[me].hear_from(other, me);
            });
            heard.arrive_and_wait();
            if (window == event_queue::never) return;
            attempt([&] {
                if (parts[me].next_window() == window) parts[me].run(window);
            });
        }
    };
    std::vector<std::jthread> threads;
    {
        const base::signals_blocked within;
        for (std::size_t i = 1; i < parts.size(); ++i) threads.emplace_back(work, i);
    }
    work(0);
    threads.clear();
    for (const std::exception_ptr& f : failures)
        if (f) std::rethrow_exception(f);
}

}  // namespace rubato::simulator
