// The tables of `rubato report` on a terminal.
#pragma once

#include "report/analysis.hpp"

#include <string>

namespace rubato::cli {

/// The fastest contestant of each case, a row per case.
std::string winners_text(const report::analysis& a);
/// Every contestant of every case.
std::string contestants_text(const report::analysis& a);
/// Non-blocking calls, and what a model predicts; empty if there is neither.
std::string extras_text(const report::analysis& a);

}  // namespace rubato::cli
