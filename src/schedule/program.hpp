// All ranks' schedules as one array of linked steps: the steps that wait for each, and the other side of each message.
//
// Ranks are laid out one after the other, so the order of step numbers is the order of (rank, step). An evaluator of
// a program counts `waits_for` down to zero and then runs the step.
#pragma once

#include "rubato/layout.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rubato {

struct linked_step {
    std::int64_t ready = 0;  ///< it does not start before this; once it is done: when it ended
    std::int64_t span = 0;   ///< bytes that it moves; the model turns them into nanoseconds
    std::uint32_t waits_for = 0;
    std::uint32_t rank = 0;
    std::uint32_t partner = 0;    ///< the other side of the message, or `none`
    std::uint32_t followers = 0;  ///< the first of them in program::followers; they end where the next step's begin
    std::uint32_t after_send = UINT32_MAX;  ///< the next step on the sending side, or `none`
    std::uint32_t after_recv = UINT32_MAX;  ///< the same on the receiving side
    step_kind kind = step_kind::copy;
    bool synchronous = false;  ///< the message is not sent before its receiver waits for nothing else
    bool inside = false;       ///< the message stays within a host
};

struct program {
    static constexpr std::uint32_t none = UINT32_MAX;
    static constexpr std::uint32_t done = UINT32_MAX;  ///< in `waits_for`

    std::span<const schedule> schedules{};
    std::vector<linked_step> steps{};            ///< and one more at the end
    std::vector<std::uint32_t> followers{};      ///< the steps that wait for a step
    std::vector<std::uint32_t> first_of_rank{};  ///< and one more at the end
    std::vector<std::int64_t> begins{};          ///< of each step; empty: not asked for

    std::uint32_t size() const { return first_of_rank.back(); }
    std::span<const std::uint32_t> followers_of(std::uint32_t s) const {
        return std::span(followers).subspan(steps[s].followers, steps[s + 1].followers - steps[s].followers);
    }
    const step& original(std::uint32_t s) const {
        return schedules[steps[s].rank].steps[s - first_of_rank[steps[s].rank]];
    }

    /// Throws if a step is not done: the schedules deadlock.
    void check_done() const;
};

/// `layouts`: one for all ranks, or one per rank; their units are bytes.
program link(std::span<const schedule> all, std::span<const layout> layouts);

/// Makes the steps of each rank whose kind `takes` accepts wait for each other in their order. `Next` is the member
/// that names the next step.
template <std::uint32_t linked_step::*Next, class Takes>
void serve_in_order(program& p, Takes takes) {
    linked_step* last = nullptr;
    for (std::uint32_t s = 0; s < p.size(); ++s) {
        linked_step& me = p.steps[s];
        if (!takes(me.kind)) continue;
        if (last != nullptr && last->rank == me.rank) {
            last->*Next = s;
            ++me.waits_for;
        }
        last = &me;
    }
}

}  // namespace rubato
