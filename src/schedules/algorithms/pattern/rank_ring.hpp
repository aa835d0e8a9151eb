// Reduce-scatter and allgather on a ring of ranks, for vectors cut into one part per rank.
#pragma once

#include "rubato/builder.hpp"

#include <functional>
#include <map>

namespace rubato::schedules {

/// Appends a reduce-scatter: rank r ends with part r. A part is `segments` blocks, which follow each other so closely
/// that one is received while the one before is combined. Of a block, this rank has input(block).
/// The n-th partial result to come is received, and combined with that, at place(block, n); that of the last part stays
/// there. Ranks are positions on the ring, and `rank_at` gives the rank at one.
void ring_reduce_scatter(
    builder& b, std::int32_t ranks, rank me, std::uint32_t segments, const std::function<slice(block)>& input,
    const std::function<slice(block, std::uint32_t)>& place,
    const std::function<rank(rank)>& rank_at = [](rank r) { return r; });

/// Scratch for chunks on their way around the ring to other ranks: two places in turn where chunks are of one size,
/// else one for each. Made when first asked for.
class passing_chunks {
public:
    passing_chunks(builder& b, const problem& p) : b_(b), differ_(traits(p.what).irregular) {}

    slice room(std::uint32_t chunk, std::uint32_t turn) {
        const auto [found, is_new] = rooms_.try_emplace(differ_ ? chunk : turn % 2);
        if (is_new) found->second = b_.scratch_chunks(1, chunk);
        return found->second;
    }

private:
    builder& b_;
    bool differ_;
    std::map<std::uint32_t, slice> rooms_{};
};

/// An allreduce in which each part travels the ring once to be combined, and once more, complete, to everybody.
/// Cost: 2 (P-1) alpha + (P-1)/P m (2 beta + gamma); N segments 2 (P-1) N (alpha + m/(P N) beta) + m/(P N) gamma.
schedule ring_allreduce(const problem& p, rank me, std::uint32_t segments);
/// The allreduce for ranks that arrive together, which algorithms for late ranks use when none is late: the ring if
/// there is a segment for each rank; Rabenseifner's, in fewer steps, if not.
schedule allreduce_together(const problem& p, rank me);

}  // namespace rubato::schedules
