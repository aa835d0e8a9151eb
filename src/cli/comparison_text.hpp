// Two observed runs beside each other, for a terminal.
#pragma once

#include "report/compare_runs.hpp"

namespace rubato::cli {

/// `all`: every place.
std::string comparison_text(const report::run_comparison& c, bool all);

}  // namespace rubato::cli
