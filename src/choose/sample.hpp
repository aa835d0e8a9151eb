// What the schedules of some ranks tell of those of all.
#pragma once

#include "choose/outcome.hpp"
#include "rubato/layout.hpp"

namespace rubato {

/// What a rank has to do, or some ranks on average.
struct load {
    double steps = 0;
    double messages = 0;
    double sent = 0;  ///< bytes
    double received = 0;
    double combined = 0;
};

/// How long a rank is busy with that at least.
time_ns least_time(const model& m, const load& l);

load load_of(const schedule& s, const layout& sizes);

struct sample {
    load root{};
    load others{};
    time_ns least{};       ///< not all of these ranks can be done sooner
    std::size_t hash = 0;  ///< of their schedules
};

/// Nothing if even some schedules take too long to make.
std::optional<sample> take_sample(const algorithm& a, const problem& p, const setting& s);

/// An algorithm that makes one schedule at a time sorts all ranks each time, some hundred times as quickly as it makes
/// steps: in the time of so many steps.
double time_to_sort(const algorithm& a, const problem& p);

/// What it takes to make and to simulate the schedules of all ranks, in steps.
std::size_t estimated_steps(const algorithm& a, const problem& p, const std::optional<sample>& some);

}  // namespace rubato
