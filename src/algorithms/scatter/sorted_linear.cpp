// Sorted linear scatter (SLN; BSLN if begun early). The root sends each rank its chunk in the order of arrival, so that
// no rank waits for a later one.
//
// Cost: as linear, (P - 1)(alpha + m beta), m = one chunk, if all have arrived. If one rank comes T after the others,
// the larger of that and T + alpha + m beta; begun early, the larger of that and T.
// Rank counts: any. Without predicted arrivals the order is that of ranks.
// Source: Proficz 2020, Figs 5 and 6.
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/in_order.hpp"

namespace rubato {

std::vector<schedule> scatter_sorted_linear(const problem& p, std::span<const rank> who) {
    return build_each(who, [&p, line = by_arrival(p)](rank me) {
        builder b(p, me, 1);
        scatter_in_order(b, p, me, line);
        return std::move(b).finish();
    });
}

}  // namespace rubato
