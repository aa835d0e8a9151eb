// Parts of a simulation, each on a core of its own, that handle one window of time after the other.
//
// A part has begin(), next_window(), run(window) and hear_from(other, i), which takes what another part has told it,
// the i-th.
#pragma once

#include "core/signals_blocked.hpp"
#include "simulate/event_queue.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <exception>
#include <thread>
#include <vector>

namespace rubato {

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
        for (const Part& p : parts) window = std::min(window, p.next_window());
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
        const signals_blocked within;
        for (std::size_t i = 1; i < parts.size(); ++i) threads.emplace_back(work, i);
    }
    work(0);
    threads.clear();
    for (const std::exception_ptr& f : failures)
        if (f) std::rethrow_exception(f);
}

}  // namespace rubato
