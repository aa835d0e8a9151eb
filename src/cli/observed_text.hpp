// What `rubato report` prints of an observed program.
#pragma once

#include "report/observed.hpp"

namespace rubato::cli {

/// `all`: every row and every algorithm that was simulated, not only those that matter.
std::string observed_text(const report::observed& o, bool all);

}  // namespace rubato::cli
