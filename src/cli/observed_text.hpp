// The report of an observed program for a terminal.
#pragma once

#include "report/observed.hpp"

namespace rubato::cli {

/// `all`: every row and every algorithm.
std::string observed_text(const report::observed& o, bool all);
/// Of a program that may still run: the diagnosis and the rows.
std::string watched_text(const report::observed& o);

}  // namespace rubato::cli
