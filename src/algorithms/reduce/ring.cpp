// Parallel ring (bucket). The vector is cut into a part per rank; all parts travel along the ring at once, each rank
// adding its own, until every rank has one part complete. A binomial tree gathers them at the root.
//
// Cost: (P-1+n) alpha + (P-1)/P m (2 beta + gamma), n = ceil(log2 P). Each part is combined in an order of its own.
// Rank counts: any.
// Source: Marendic et al. 2016, 5.5.2 and Table 3.
#include "../ring.hpp"

#include "../gather_parts.hpp"
#include "../partial.hpp"

#include <array>

namespace rubato {

schedule reduce_ring(const problem& p, rank me) {
    const auto ranks = static_cast<std::uint32_t>(p.ranks);
    const auto mine = static_cast<std::uint32_t>(me.value);
    builder b(p, me, ranks);
    const gather_place place = binomial_gather_place(ranks, static_cast<std::uint32_t>(p.root.value), mine);
    const bool at_root = me == p.root;
    const slice home = at_root ? b.output() : b.scratch(place.mine.first, place.mine.count);
    std::array<slice, 2> passing{};  // only the root has room for parts that are not its own
    for (slice& s : passing)
        if (!at_root && ranks > 2) s = b.scratch(0, 1);
    ring_reduce_scatter(b, p.ranks, me, 1, b.input(), [&](block q, std::uint32_t turn) {
        return at_root || q == mine ? part(home, q, 1) : passing[turn % 2].holding(q, 1);
    });
    if (ranks == 1) b.copy(b.input(), home);
    const auto rank_at = [](std::uint32_t position) { return rank(static_cast<std::int32_t>(position)); };
    gather_parts(b, place, rank_at, home);
    return std::move(b).finish();
}

}  // namespace rubato
