// Reduce-scatter and allgather on a ring of ranks, for vectors cut into one part per rank.
#pragma once

#include "rubato/builder.hpp"

#include <functional>

namespace rubato {

/// Appends a reduce-scatter: rank r ends with part r. A part is `segments` blocks, which follow each other so closely
/// that one is received while the one before is combined. The n-th partial result to come is received, and combined
/// with the input, at place(block, n); that of the last part stays there.
void ring_reduce_scatter(builder& b, std::int32_t ranks, rank me, std::uint32_t segments, slice input,
                         const std::function<slice(block, std::uint32_t)>& place);
/// The same allreduce, with parts of one or more segments.
schedule ring_allreduce(const problem& p, rank me, std::uint32_t segments);

}  // namespace rubato
