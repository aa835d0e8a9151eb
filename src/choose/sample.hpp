// Estimates for all ranks from the schedules of some.
#pragma once

#include "choose/outcome.hpp"
#include "rubato/layout.hpp"

namespace rubato {

/// The work of a rank, or the average of some ranks.
struct load {
    double steps = 0;
    double messages = 0;
    double sent = 0;  ///< bytes
    double received = 0;
    double combined = 0;
};

/// The least time that this work takes a rank.
time_ns least_time(const model& m, const load& l);

load load_of(const schedule& s, const layout& sizes);

struct sample {
    load root{};
    load others{};
    time_ns least{};       ///< the last of these ranks cannot end sooner
    std::size_t hash = 0;  ///< of their schedules
};

/// Nothing if even these schedules take too long to make.
std::optional<sample> take_sample(const algorithm& a, const problem& p, const setting& s);

/// The cost of sorting, in simulated steps: an algorithm that makes one schedule at a time sorts all ranks each time;
/// sorting a rank is some hundred times as fast as making a step.
double time_to_sort(const algorithm& a, const problem& p);

/// The cost of making and simulating the schedules of all ranks, in steps.
std::size_t estimated_steps(const algorithm& a, const problem& p, const std::optional<sample>& some);

}  // namespace rubato
