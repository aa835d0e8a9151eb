// Sorted binomial tree. As the binomial tree, with the ranks lined up by arrival: the first ranks pass the data on, the
// last ones are leaves, and no rank waits for a later one.
//
// Cost: n (L + 2o + s G), n = ceil(log2 P), if all have arrived. If one rank comes T after the others, the larger of
// this and T + L + 2o + s G; begun early, the larger of this and T. Rank counts: any. Without predicted arrivals the
// order is that of ranks. Source: ours, after Proficz 2020, Fig. 7.
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/lined_up_tree.hpp"

namespace rubato {

std::vector<schedule> bcast_sorted_binomial(const problem& p, std::span<const rank> who) {
    return build_each(who, [&p, line = by_arrival(p)](rank me) {
        builder b(p, me, 1);
        bcast_down(b, lined_up_tree(p.root, me, line).shape());
        return std::move(b).finish();
    });
}

}  // namespace rubato
