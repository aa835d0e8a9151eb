// The algorithm where neither the caller nor a model chooses one.
#pragma once

#include "rubato/algorithm.hpp"

namespace rubato::mpi {

/// `bytes` of a chunk, equal on all ranks; not used where chunks differ.
const algorithm& default_algorithm(collective what, std::int32_t ranks, std::int64_t bytes);
std::uint32_t default_segments(const algorithm& a, std::int64_t bytes);

}  // namespace rubato::mpi
