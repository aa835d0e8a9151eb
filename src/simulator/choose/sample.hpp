// Estimates for all ranks from the schedules of some, and from problems with fewer ranks.
#pragma once

#include "rubato/algorithm.hpp"
#include "rubato/layout.hpp"
#include "simulator/choose/outcome.hpp"

#include <optional>
#include <span>

namespace rubato::simulator {

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

/// How many steps the schedules of a problem have and how much memory they take, told before they are made.
struct step_counts {
    double most = 0;          ///< of the rank that has most
    double all = 0;           ///< of all ranks
    double planning = 0;      ///< what it takes to make them beyond that, in the time of so many simulated steps
    double bytes = 0;         ///< of memory, of all ranks' schedules
    double dependencies = 0;  ///< of all ranks
};

/// From the schedules of some ranks, or of a smaller problem where even these would be long. Throws if check() does.
RUBATO_API step_counts expected_steps(const algorithm& a, const problem& p);

// A problem with fewer ranks, and the extrapolation from such problems to more ranks.
//
// Many ranks. Up to 40000 steps all ranks are simulated; beyond that n, n/2, n/4 and n/8 ranks: the cost of more ranks
// is a sum of a constant, a part per doubling and a part that doubles (class growth). This one rule covers every
// algorithm (alltoall/bruck is underestimated). It fails where an algorithm behaves differently with fewer ranks, such
// as those that use a ring only if there is a segment for each rank, so the messages and bytes of some ranks in the
// whole problem must follow from those in the small ones; otherwise larger ones are taken. Powers of two stay so,
// others do not become one. Groups of neighbours become one rank; arrivals keep their distribution, and the four last
// stay. Against simulations of all ranks the error is below 0.2 % in half of the cases, above 11 % in a tenth.

/// The same problem with about half of the ranks, or the next lower count that meets the algorithm's needs; nothing if
/// there is none. Groups of neighbours become one rank. The last arrivals stay as they are and the others keep
/// their distribution, in the order of the groups; the root keeps its own.
std::optional<problem> with_fewer_ranks(const algorithm& a, const problem& p);

/// a + b log2 n + c n, with b and c not below 0, through the first point, which has the most ranks, and as near to the
/// others as possible: the cost of rounds grows in steps.
class growth {
public:
    growth(std::span<const double> ranks, std::span<const double> values);
    double at(double ranks) const;

private:
    double ranks_;
    double value_;
    double per_doubling_ = 0;
    double per_rank_ = 0;
};

}  // namespace rubato::simulator
