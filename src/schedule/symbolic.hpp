// Runs well-formed schedules of all ranks on symbolic values, and compares the results with the promise.
#pragma once

#include "schedule/findings.hpp"
#include "schedule/promises.hpp"

namespace rubato {

/// `same_bits`: results that are promised alike must also be combined alike.
void run_symbolically(const problem& p, const promises& promised, std::span<const schedule> all, bool same_bits,
                      findings& found);

}  // namespace rubato
