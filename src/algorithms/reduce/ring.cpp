// Parallel ring (bucket). The vector is cut into a part per rank; all parts travel along the ring at once, each rank
// adding its own, until every rank has one part complete. A binomial tree gathers them at the root.
//
// Cost: (P-1+n) alpha + (P-1)/P m (2 beta + gamma), n = ceil(log2 P). Each part is combined in an order of its own.
// Rank counts: any.
// Source: Marendic et al. 2016, 5.5.2 and Table 3.
#include "algorithms/pattern/rank_ring.hpp"

#include "algorithms/pattern/movement.hpp"
#include "algorithms/pattern/partial.hpp"

#include <array>

namespace rubato {

schedule reduce_ring(const problem& p, rank me) {
    builder b(p, me, static_cast<std::uint32_t>(p.ranks));
    const tree t = knomial_tree(p.ranks, p.root, me, 2);
    const slice home = gather_room(b, t);
    std::array<slice, 2> passing{};  // only the root has room for parts that are not its own
    for (slice& s : passing)
        if (t.parent && p.ranks > 2) s = b.scratch(0, 1);
    ring_reduce_scatter(
        b, p.ranks, me, 1, [own = b.input()](block q) { return own.sub(q); },
        [&](block q, std::uint32_t turn) {
            return !t.parent || q == chunk_of(me) ? part(home, q, 1) : passing[turn % 2].holding(q, 1);
        });
    if (p.ranks == 1) b.copy(b.input(), home);
    gather_up(b, t, home, std::identity{});
    return std::move(b).finish();
}

}  // namespace rubato
