// What `rubato report`, `bench`, `watch` and `profile show` print of measurements, observed programs and profiles.
#pragma once

#include "dropin/direct/learned.hpp"
#include "reports/report/analysis.hpp"
#include "reports/report/observed.hpp"

namespace rubato::command {

/// The fastest contestant of each case, a row per case.
std::string winners_text(const reports::analysis& a);
/// Every contestant of every case.
std::string contestants_text(const reports::analysis& a);
/// Non-blocking calls, and what a model predicts; empty if there is neither.
std::string extras_text(const reports::analysis& a);

/// An observed program. `all`: every row and every algorithm.
std::string observed_text(const reports::observed& o, bool all);
/// Of a program that may still run: the diagnosis and the rows.
std::string watched_text(const reports::observed& o);

/// An experience on a communicator of so many ranks.
struct profiled {
    std::int32_t ranks = 0;
    dropin::experience what{};
};

/// What is remembered of operations.
std::string experiences_text(const std::vector<profiled>& all);

}  // namespace rubato::command
