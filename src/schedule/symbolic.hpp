// Runs well-formed schedules of all ranks on symbolic values, and compares the results with the promise.
#pragma once

#include "schedule/findings.hpp"
#include "schedule/promises.hpp"

namespace rubato {

void run_symbolically(const problem& p, const promises& promised, std::span<const schedule> all, findings& found);

}  // namespace rubato
