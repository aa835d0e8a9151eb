// How soon a scatter or gather can end, whatever the algorithm, if ranks arrive at given times and the root's link is
// what limits.
#pragma once

#include "rubato/problem.hpp"

#include <span>

/// What was measured of a link, one way.
struct link_speed {
    rubato::time_ns latency{};  ///< of a small message
    double per_byte = 0;        ///< in nanoseconds, of a large message
};

/// Who may do something before its rank arrives.
enum class before_arrival {
    nothing,     ///< a block begins to flow when both its ranks are there
    background,  ///< it flows as soon as it exists, and a late receiver finds it there
};

/// When the last rank can leave. All blocks but the root's own pass the root's link, one after the other, and the
/// earliest end is that of serving them in the order in which they can flow. `block`: bytes of one rank.
rubato::time_ns earliest_end(rubato::collective what, std::span<const rubato::time_ns> arrivals, std::size_t root,
                             std::int64_t block, const link_speed& l, before_arrival can);
