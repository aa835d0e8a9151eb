// How soon a collective can end if ranks arrive at given times, in the model in which a port is busy for the whole of a
// message's time, its latency included.
#pragma once

#include "rubato/problem.hpp"

#include <span>
#include <vector>

namespace rubato::simulator {

/// A link as it was measured: of a small message, and per byte of a large one.
struct link {
    time_ns latency{};
    double ns_per_byte = 0;

    bool operator==(const link&) const = default;
};

/// When the last rank can leave, at the earliest. Each rank has a link like this, both ways at once; what a rank has to
/// receive can be waiting for it when it arrives, but nothing leaves it earlier; computing is free.
/// `bytes`: of the vector, or of the wider buffer in all. Bounds are derived in the source, per collective.
RUBATO_API time_ns earliest_end(collective what, std::span<const time_ns> arrivals, rank root, std::int64_t bytes,
                                const link& l);

/// When each rank can leave at the earliest. Of a rooted collective a rank leaves when its own part is done, and may
/// then be ahead of others for several calls; of all others together.
RUBATO_API std::vector<time_ns> earliest_exits(collective what, std::span<const time_ns> arrivals, rank root,
                                               std::int64_t bytes, const link& l);

}  // namespace rubato::simulator
