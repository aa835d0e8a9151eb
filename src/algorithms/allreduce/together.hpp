// The allreduce for ranks that arrive together, which algorithms for late ranks use when none is late.
#pragma once

#include "algorithms/builders.hpp"
#include "algorithms/pattern/rank_ring.hpp"

namespace rubato {

/// The ring if there is a segment for each rank; Rabenseifner's, in fewer steps, if not.
inline schedule allreduce_together(const problem& p, rank me) {
    const std::uint32_t per_rank = p.segments / static_cast<std::uint32_t>(p.ranks);
    return per_rank > 0 ? ring_allreduce(p, me, per_rank) : allreduce_rabenseifner(p, me);
}

}  // namespace rubato
