// Sorted linear pipeline. Every rank passes each segment to the rank that arrives next, so that no rank waits for a
// later one.
//
// Cost: (P - 2 + N)(L + 2o + s/N G), N = segments, if all have arrived. If one rank comes T after the others, the
// larger of that and T + L + 2o + s G; begun early, the larger of that and T. Rank counts: any. Without predicted
// arrivals the order is that of ranks. Source: ours, after Hoefler & Moor 2014, 3.1.4.
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/tree.hpp"

#include <algorithm>

namespace rubato {

std::vector<schedule> bcast_sorted_chain(const problem& p, std::span<const rank> who) {
    std::vector<rank> line = by_arrival(p);
    line.insert(line.begin(), p.root);
    return build_each(who, [&](rank me) {
        const auto mine = std::ranges::find(line, me);
        tree t;
        if (mine != line.begin()) t.parent = *(mine - 1);
        if (mine + 1 != line.end()) t.children = {*(mine + 1)};
        builder b(p, me, p.segments);
        bcast_down(b, t);
        return std::move(b).finish();
    });
}

}  // namespace rubato
