// The diagnosis of an observed program for a terminal.
#pragma once

#include "report/observed.hpp"

namespace rubato::cli {

/// `all`: also places at which nothing is worth mending.
std::string diagnosis_text(const report::observed& o, bool all);

}  // namespace rubato::cli
