// Where a thread of a process is: within a collective, or outside since when. It lies in the process's part file. The
// thread stores it before and after each call; the watchdogs of its own and of other processes read it.
//
// A program that hangs calls no MPI, so the watchdog needs none: each thread stores, before a call that may wait, one
// line of the cache in its part, which nobody else writes, and its state after it. Rank 0's thread reads the lines of
// all ranks and counts how long it has seen a rank in the same call, as clocks drift. A process that is stopped is not
// late: time in which rank 0's thread did not run does not count, and ranks whose counter stands still while they hold
// the lock on their part are stopped. A process that has ended holds no lock.
#pragma once

#include "rubato/problem.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rubato::dropin {

/// For others to read, at any time.
template <class T>
void store(T& to, T value) {
    std::atomic_ref(to).store(value, std::memory_order_relaxed);
}

enum class form : std::uint8_t { blocking, nonblocking, persistent };
inline constexpr std::array<std::string_view, 3> form_names{"blocking", "nonblocking", "persistent"};
static_assert(form_names.size() == static_cast<std::size_t>(form::persistent) + 1);
constexpr std::string_view name_of(form f) { return form_names[static_cast<std::size_t>(f)]; }

/// What a thread waits in.
enum class waiting : std::uint8_t {
    call,      ///< a collective that blocks
    end_of,    ///< MPI_Wait and its like, for a collective that does not
    tests_of,  ///< MPI_Test and its like, again and again, for the same
    finalize,  ///< MPI_Finalize
};

/// A call that may wait for other ranks.
struct visit {
    waiting in = waiting::call;
    collective what = collective::barrier;
    form how = form::blocking;
    std::int32_t root = 0;         ///< as in `seen`
    std::uint32_t channel = 0;     ///< its number
    std::uint64_t invocation = 0;  ///< its number among the calls of the communicator, or of persistent_start
    const void* site = nullptr;
    std::int64_t count = -1;  ///< of elements, equal on all ranks; -1: it need not be
    std::uint64_t type = 0;   ///< the handle of their datatype
};

/// Ranks may start persistent requests in any order, so their calls have numbers of their own.
struct persistent_start {
    std::uint32_t request = 0;  ///< among those of the communicator
    std::uint32_t start = 0;    ///< of the request

    static constexpr std::uint64_t marked = std::uint64_t{1} << 63;

    constexpr std::uint64_t number() const { return marked | std::uint64_t{request} << 32 | start; }
    static constexpr std::optional<persistent_start> from(std::uint64_t number) {
        if ((number & marked) == 0) return std::nullopt;
        return persistent_start{static_cast<std::uint32_t>((number & ~marked) >> 32),
                                static_cast<std::uint32_t>(number)};
    }
};

/// A persistent request. It lies in the process's part file, too.
struct watched_request {
    std::uint32_t channel;
    std::uint32_t number;  ///< among those of the communicator, counted from 1; 0: not in use
    std::uint64_t starts;

    void start() { std::atomic_ref(starts).store(starts + 1, std::memory_order_relaxed); }
};

/// Of one thread. Its first line of the cache is stored by the thread, the second by its process's watchdog.
struct whereabouts {
    static constexpr std::uint64_t outside = 0, inside = 1, changing = 2, states = 4;

    struct alignas(64) line {
        std::uint64_t turn;  ///< counts entries and exits, times `states`, plus the state; the last store of each
        std::int64_t since;  ///< the entry or the exit, on the process's clock
        std::uint64_t invocation;
        std::uint64_t site;
        std::uint64_t type;
        std::int64_t count;
        std::uint32_t channel;
        std::int32_t root;
        waiting in;
        collective what;
        form how;
        std::uint32_t polls;  ///< tests that found nothing, so far
    } own;
    struct alignas(64) explanation {
        std::uint64_t site;  ///< whose number is known
        std::uint64_t type;  ///< whose size is known
        std::int64_t bytes;  ///< of an element
        std::uint32_t site_number;
    } known;

    void enter(const visit& v, time_ns now) noexcept {
        const std::uint64_t next = begin_change();
        store(own.since, static_cast<std::int64_t>(now.count()));
        store(own.invocation, v.invocation);
        store(own.site, static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(v.site)));
        store(own.type, v.type);
        store(own.count, v.count);
        store(own.channel, v.channel);
        store(own.root, v.root);
        store(own.in, v.in);
        store(own.what, v.what);
        store(own.how, v.how);
        std::atomic_ref(own.turn).store(next | inside, std::memory_order_release);
    }
    /// A test has found that the call has not ended. The first one is an entry.
    void poll(const visit& v, time_ns now) noexcept {
        if (!polls() || own.channel != v.channel || own.invocation != v.invocation) enter(v, now);
        store(own.polls, own.polls + 1);
    }
    bool polls() const { return own.turn % states == inside && own.in == waiting::tests_of; }
    void leave(time_ns now) noexcept {
        const std::uint64_t next = begin_change();
        store(own.since, static_cast<std::int64_t>(now.count()));
        std::atomic_ref(own.turn).store(next | outside, std::memory_order_release);
    }

private:
    std::uint64_t begin_change() {
        const std::uint64_t turn = own.turn / states * states;
        store(own.turn, turn | changing);
        std::atomic_thread_fence(std::memory_order_release);
        return turn + states;
    }
};
static_assert(sizeof(whereabouts) == 128);

}  // namespace rubato::dropin
