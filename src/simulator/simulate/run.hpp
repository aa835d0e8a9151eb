// What the simulators of all models share.
#pragma once

#include "base/core/hosts.hpp"
#include "rubato/model.hpp"
#include "rubato/simulate.hpp"
#include "schedules/schedule/shapes.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace rubato::simulator {

class shared_cables;

/// The one place where a modelled duration becomes whole nanoseconds.
std::int64_t whole_ns(double duration);

/// Messages between hosts, and within one.
enum link_kind : std::uint8_t { between, within };

/// All ranks' steps: what each waits for, and when it ended.
class run_of_ranks {
public:
    run_of_ranks(schedules::shape_table& ranks, std::span<const time_ns> arrivals, const simulation_options& how,
                 simulation& result, shared_cables* cables);

    schedules::shape_table& shapes() { return shapes_; }
    const schedules::shape_table& shapes() const { return shapes_; }
    std::uint32_t ranks() const { return shapes_.ranks(); }
    unsigned cores() const { return how_.cores; }
    const noise* detours() const { return how_.detours; }
    bool has_noise() const { return how_.detours != nullptr && how_.detours->any(); }
    /// Whether no rank or link differs from the others, and each rank has its own.
    bool all_alike() const {
        const bool any_slow = how_.slow != nullptr && !(how_.slow->processors.empty() && how_.slow->links.empty());
        return !any_slow && !has_noise() && !how_.shared_links && cables_ == nullptr &&
               (how_.hosts.empty() || how_.inside == nullptr);
    }
    /// On which messages between hosts meet; null: their time is fixed.
    shared_cables* cables() const { return cables_; }
    bool shares_links() const { return how_.shared_links; }
    /// How many share links.
    std::size_t hosts() const {
        return how_.shared_links ? static_cast<std::size_t>(base::count_hosts(how_.hosts)) : 0;
    }
    std::uint32_t host_of(std::uint32_t rank) const { return static_cast<std::uint32_t>(how_.hosts[rank]); }
    /// What the rank's processor takes for what others do in so many ns.
    std::int64_t on_processor(std::uint32_t rank, std::int64_t ns) const {
        return how_.slow == nullptr ? ns : slowed(how_.slow->processors, rank, rank, ns);
    }
    /// What a message of these two takes of their interfaces.
    std::int64_t on_link(std::uint32_t a, std::uint32_t b, std::int64_t ns) const {
        return how_.slow == nullptr ? ns : slowed(how_.slow->links, a, b, ns);
    }
    /// Ranks in equal parts, one for each core.
    std::uint32_t first_of_part(std::uint64_t i, std::uint64_t parts) const {
        return static_cast<std::uint32_t>((ranks() * i + parts - 1) / parts);
    }
    std::size_t part_of(std::uint64_t rank, std::uint64_t parts) const { return rank * parts / ranks(); }
    link_kind link(std::uint32_t a, std::uint32_t b) const {
        return !how_.hosts.empty() && how_.hosts[a] == how_.hosts[b] ? within : between;
    }

    static constexpr std::uint32_t done = UINT32_MAX;
    /// Bits of `waits` in which a model notes that a step waits for more than other steps.
    static constexpr std::uint32_t more = 3U << 30;

    /// The steps of a rank.
    struct view {
        const schedules::shape& steps;
        std::int64_t* ready;   ///< of each step: it does not start before; once it is done, when it ended
        std::uint32_t* waits;  ///< of each step: how many others it waits for, or `done`
        span_ns* recorded;     ///< of each step, or null

        bool is_free(std::uint32_t step) const { return (waits[step] & ~more) == 0; }
        /// The step waits for one less. Calls free(step) if it was the last.
        template <class F>
        void release(std::uint32_t step, std::int64_t time, F free) const {
            ready[step] = std::max(ready[step], time);
            --waits[step];
            if (is_free(step)) free(step);
        }
        /// Releases what waits for the beginning of the step.
        template <class F>
        void has_begun(std::uint32_t step, std::int64_t time, F free) const {
            if (steps.steps[step].is_awaited) steps.each_after(step, [&](std::uint32_t f) { release(f, time, free); });
        }
        /// The step is done. Releases what waits for that.
        template <class F>
        void finish(std::uint32_t step, std::int64_t begin, std::int64_t end, F free) const {
            waits[step] = done;
            ready[step] = end;
            if (recorded != nullptr) recorded[step] = {time_ns(begin), time_ns(end)};
            for (const std::uint32_t f : steps.followers_of(step)) release(f, end, free);
        }
    };
    view of(std::uint32_t rank) {
        const std::uint64_t first = shapes_.first()[rank];
        return {shapes_.of(rank), ready_.get() + first, waits_.get() + first,
                how_.record_steps ? result_.steps[rank].data() : nullptr};
    }

    /// When the rank's processor begins: at its arrival, or if others can do its steps before, when the first arrives.
    std::int64_t begin_of(std::uint32_t rank) const { return (how_.early ? first_arrival_ : arrivals_[rank]).count(); }
    /// Every step of the rank waits for what it must, and for the rank's arrival.
    void begin(std::uint32_t rank);
    /// The exits of all ranks. Throws if a step is not done: the schedules deadlock.
    void end();

private:
    static std::int64_t slowed(const std::vector<double>& factors, std::uint32_t a, std::uint32_t b, std::int64_t ns) {
        return factors.empty() ? ns : whole_ns(std::max(factors[a], factors[b]) * static_cast<double>(ns));
    }

    schedules::shape_table& shapes_;
    std::span<const time_ns> arrivals_;
    const simulation_options& how_;
    simulation& result_;
    shared_cables* cables_;
    time_ns first_arrival_;  // no rank knows of the operation before
    std::unique_ptr<std::int64_t[]> ready_;
    std::unique_ptr<std::uint32_t[]> waits_;
};

// Each runs all steps that can run. `inside` tells what messages within a host cost.
void run(const hockney& m, const hockney& inside, run_of_ranks& r);
void run(const loggp& m, const loggp& inside, run_of_ranks& r);
void run(const loggp5& m, const loggp5& inside, run_of_ranks& r);
void run(const loggops& m, const loggops& inside, run_of_ranks& r);

}  // namespace rubato::simulator
