// Summaries of measured overlap (Hoefler 2008, IV.2.5 and IV.4.3.4).
#pragma once

#include "results/results.hpp"

#include <optional>

namespace rubato::results {

/// The time in which the calling thread communicates and cannot compute: IV.2.5's overhead.
time_ns in_calls(const overlap& o);
/// By how much the computation's end is later than without communication: the workload-based overhead of IV.4.3.4.
/// Below 0 if the computation alone was disturbed more.
time_ns visible(const overlap& o);

/// Of a blocking call's time: 1 - seen / blocking, from 0 (nothing, or it takes longer than the blocking call) to 1.
/// 0 where there was nothing to hide.
double hidden_share(double seen, double blocking);

/// Medians over repetitions, in nanoseconds.
struct overlap_summary {
    std::string name{};  ///< of the contestant
    std::string method{};
    std::int32_t tests = 0;
    std::size_t samples = 0;
    double total = 0;
    double computation = 0;
    double visible = 0;
    double in_calls = 0;
    double overhead = 0;
    std::optional<double> hidden{};  ///< share of the contestant's blocking call that does not delay the computation
    std::optional<double> freed{};   ///< share of the blocking call's time that the calling thread gets back
    /// Of calls without a computation: processor time by elapsed time (III.2.3). What is missing to 1 could be won by
    /// overlap without a second core; MPI libraries that poll while they wait leave nothing.
    std::optional<double> busy{};
};
/// One per contestant, method and number of tests, in the order of their first samples. Shares are of
/// those with a computation, if the blocking call was measured.
std::vector<overlap_summary> summarise(std::span<const overlap> samples);

}  // namespace rubato::results
