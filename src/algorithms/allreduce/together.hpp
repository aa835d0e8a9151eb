// The allreduce for ranks that come together, for those that are made for late ones.
#pragma once

#include "algorithms/builders.hpp"
#include "algorithms/pattern/rank_ring.hpp"

namespace rubato {

/// Recursive doubling for one segment; the ring if there is a segment for each rank; Rabenseifner's, in fewer steps, if
/// not.
inline schedule allreduce_together(const problem& p, rank me) {
    if (p.segments == 1) return allreduce_recursive_doubling(p, me);
    const std::uint32_t per_rank = p.segments / static_cast<std::uint32_t>(p.ranks);
    return per_rank > 0 ? ring_allreduce(p, me, per_rank) : allreduce_rabenseifner(p, me);
}

}  // namespace rubato
