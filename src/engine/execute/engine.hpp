// Running a schedule: a state machine that starts each step when those it waits for have ended. No MPI here: messages
// and the operator come from a transport, so the same engine runs over MPI and between threads of one process.
#pragma once

#include "rubato/layout.hpp"
#include "rubato/schedule.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace rubato::engine {

/// A schedule with what a run of it needs, computed once: which steps wait for each step.
class RUBATO_API plan {
public:
    explicit plan(schedule s);

    const schedule& steps() const { return schedule_; }
    std::span<const std::uint32_t> successors(std::uint32_t s) const {
        return std::span(successors_).subspan(first_successor_[s], first_successor_[s + 1] - first_successor_[s]);
    }
    /// How many steps each step waits for.
    std::span<const std::uint32_t> waits() const { return waits_; }
    /// The steps that send, and those that receive, in the schedule's order.
    std::span<const std::uint32_t> sends() const { return sends_; }
    std::span<const std::uint32_t> recvs() const { return recvs_; }
    /// For each of recvs(): the receive that must have ended before it is posted, a few earlier from the same peer, or
    /// `none`. Posting more than a few ahead from one peer gains nothing, and waiting for many costs.
    std::span<const std::uint32_t> gates() const { return gates_; }
    static constexpr std::uint32_t none = UINT32_MAX;
    /// The memory that the plan takes.
    std::size_t bytes() const;

private:
    schedule schedule_;
    std::vector<std::uint32_t> first_successor_{};
    std::vector<std::uint32_t> successors_{};
    std::vector<std::uint32_t> waits_{};
    std::vector<std::uint32_t> sends_{};
    std::vector<std::uint32_t> recvs_{};
    std::vector<std::uint32_t> gates_{};
};

/// Moves messages and computes. Lengths are in units; a message is known by its step until it has completed.
class transport {
public:
    virtual ~transport() = default;

    virtual void send(std::uint32_t step, const std::byte* data, std::int64_t units, rank to,
                      std::uint32_t message) = 0;
    virtual void recv(std::uint32_t step, std::byte* data, std::int64_t units, rank from, std::uint32_t message) = 0;
    /// Appends the steps whose messages have completed. With `wait`, blocks until there is one; called with `wait` only
    /// while messages are under way.
    virtual void poll(std::vector<std::uint32_t>& completed, bool wait) = 0;
    /// Waits for the last messages of an operation; may return before all have completed.
    virtual void wait(std::vector<std::uint32_t>& completed) { poll(completed, true); }
    /// The same as poll without looking for more than is known: somebody has looked for several operations together.
    virtual void take(std::vector<std::uint32_t>& completed) { poll(completed, false); }
    /// into = left * into
    virtual void combine(const std::byte* left, std::byte* into, std::int64_t units) = 0;
    virtual void copy(const std::byte* from, std::byte* to, std::int64_t units) = 0;
};

/// Where the symbolic buffers are: unit u of a buffer is at base + u * stride.
struct memory {
    std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::byte* scratch = nullptr;
    std::ptrdiff_t input_stride = 1;
    std::ptrdiff_t output_stride = 1;
    std::ptrdiff_t scratch_stride = 1;
};

/// One run of a plan. Sends leave in the schedule's order, except that one may be overtaken; receives are posted as
/// early as their place is free. Can be used again after it has ended, without allocating.
class RUBATO_API execution {
public:
    /// Begins. Plan, layout and transport must outlive the run. If the rank has not arrived, steps that need it wait
    /// for arrive(); the memory's input and output are looked at only then.
    void start(const plan& p, const layout& l, const memory& m, transport& t, bool arrived = true);
    void arrive(std::byte* input, std::byte* output);
    /// Does what can be done now; true when all is done.
    bool progress();
    /// The same after messages that are known to have completed; looks for no others.
    bool resume();
    /// Returns when all is done. The rank must have arrived.
    void wait();
    bool done() const { return remaining_ == 0; }
    /// Steps that have not ended.
    std::size_t remaining() const { return remaining_; }

private:
    static constexpr std::size_t send_window = 16;  // messages under way at once
    static constexpr std::size_t recv_window = 64;

    std::byte* address(buffer b, block first) const;
    void release(std::uint32_t s);
    void push_ready(std::uint32_t s);
    void complete(std::uint32_t s);
    void start_messages();
    void start_ready();
    void advance(bool wait);
    bool start_if_ready(std::uint32_t s);

    const plan* plan_ = nullptr;
    const layout* layout_ = nullptr;
    transport* transport_ = nullptr;
    memory memory_{};
    std::vector<std::int64_t> scratch_offsets_{};
    std::vector<std::uint32_t> waits_{};  // steps (and the arrival) each step still waits for
    std::vector<std::uint32_t> ready_{};  // local steps to run, a heap with the first in order on top
    std::vector<std::uint32_t> completed_{};
    std::vector<bool> started_{};
    std::vector<bool> ended_{};
    std::size_t remaining_ = 0;
    std::size_t sending_ = 0;  // messages under way
    std::size_t receiving_ = 0;
    std::size_t next_send_ = 0;  // first of the sends not started
    std::size_t next_recv_ = 0;  // first of the receives not ended
    bool look_ = false;          // a message may have become startable
    bool arrived_ = false;
};

}  // namespace rubato::engine
