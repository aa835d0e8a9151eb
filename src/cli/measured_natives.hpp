// Measured times of the MPI library's own algorithms, for `rubato choose`.
#pragma once

#include "rubato/choose.hpp"

#include <string>
#include <vector>

namespace rubato::cli {

/// The native algorithms measured with the problem's collective, ranks, root and (nearly) arrivals. Their time is the
/// median of all calls with `bytes`, in any conditions, or interpolated between the sizes around it. Throws if a file
/// cannot be read.
std::vector<candidate> measured_natives(const std::vector<std::string>& files, const problem& p, std::int64_t bytes);

}  // namespace rubato::cli
