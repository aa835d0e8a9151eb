// Sorted linear synchronised gather (SLS; BSLS if begun early). As the linear synchronised gather, but the root asks
// ranks in the order of arrival, so that it does not wait for one while others have arrived.
//
// Cost: as linear_sync, r = alpha + (P - 1)(2 alpha + m beta), m = one chunk, if all have arrived. If one rank comes T
// after the others, max(r, T + 3 alpha + m beta), begun early max(r, T + 2 alpha + m beta), as it has been asked by
// then. If the root comes T after the others, T + r, begun early max(r, T). Rank counts: any. Without predicted
// arrivals the order is that of ranks. Source: Proficz 2020, Figs 9 and 10.
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/in_order.hpp"

namespace rubato {

std::vector<schedule> gather_sorted_linear_sync(const problem& p, std::span<const rank> who) {
    return build_each(who, [&p, line = by_arrival(p)](rank me) {
        builder b(p, me, 2);
        gather_in_order(b, p, me, line);
        return std::move(b).finish();
    });
}

}  // namespace rubato
