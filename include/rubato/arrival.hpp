// When ranks arrive: the project's one grammar for arrival patterns, and the measures of Marendic et al. 2016, sec. 3.
#pragma once

#include "rubato/core.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato {

/// The arrival of each rank, from one of:
///   balanced
///   single:rank=127,delay=60ms
///   alternating:even=0,odd=5ms
///   uniform:max=50ms,seed=1
///   normal:mean=10ms,sd=2ms,seed=1     (never below 0)
///   gamma:shape=2,scale=5ms,seed=1
///   bernoulli:p=0.1,delay=20ms,seed=1
///   trace:FILE                         (one line per invocation, as many times as ranks)
///   0,0,5ms,...                        (as many times as ranks)
/// Random patterns are the same on every machine for one seed; each invocation k draws other times.
RUBATO_API std::vector<time_ns> parse_arrivals(std::string_view pattern, std::int32_t ranks,
                                               std::int64_t invocation = 0);

/// All lines of a trace; `ranks` 0: as many ranks as its first line has times.
RUBATO_API std::vector<std::vector<time_ns>> read_trace(const std::string& file, std::int32_t ranks = 0);

/// Patterns to test an algorithm with, of every kind except "balanced" and traces, spread over some 200us. In them
/// `special` is late, early, or the neighbour of such a rank.
RUBATO_API std::vector<std::string> patterns_to_try(std::int32_t ranks, rank special);

/// Latest minus earliest arrival (Definition 3.5).
RUBATO_API time_ns absolute_imbalance(std::span<const time_ns> arrivals);
/// Last exit minus first arrival (Definition 3.4).
RUBATO_API time_ns run_time(std::span<const time_ns> arrivals, std::span<const time_ns> exits);
/// Last exit minus last arrival: the time that the call takes after the last rank arrived.
RUBATO_API time_ns tail(std::span<const time_ns> arrivals, std::span<const time_ns> exits);
/// How much of the imbalance was absorbed, `balanced` being the run time without any (Definition 3.6).
RUBATO_API time_ns absorption(time_ns balanced, time_ns run_time, time_ns imbalance);
/// Imbalance or absorption as a share of the balanced run time (Definitions 3.8 and 3.9).
RUBATO_API double normalised(time_ns t, time_ns balanced);

}  // namespace rubato
