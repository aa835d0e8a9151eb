// Sorted binomial gather (SBN; BSBN if begun early). As the binomial gather, but the first ranks to arrive send first,
// and the last ones are nearest to the root and send last.
//
// Cost: as binomial, n alpha + (P - 1) m beta, n = ceil(log2 P), m = one chunk, if all have arrived. A late rank adds
// its lateness, as it receives half of the chunks only then. Begun early, these chunks wait for it, and if it comes T
// after the others, the time is the larger of this and T + alpha + P/2 m beta. A late root, begun early: the larger of
// this and T.
// Rank counts: any. If all but the root are predicted to arrive together, it is the binomial gather.
// Source: Proficz 2020, Figs 11 and 12.
#include "algorithms/builders.hpp"
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/lined_up_tree.hpp"

#include <algorithm>

namespace rubato {

std::vector<schedule> gather_sorted_binomial(const problem& p, std::span<const rank> who) {
    if (others_together(p)) return build_each(who, [&p](rank me) { return gather_binomial(p, me); });
    std::vector<rank> latest_first = by_arrival(p);
    std::ranges::reverse(latest_first);
    return build_each(who, [&](rank me) {
        builder b(p, me, 1);
        const slice all = b.output(0, static_cast<std::uint32_t>(p.ranks));
        gather_lined_up(b, me, lined_up_tree(p.root, me, latest_first), all);
        return std::move(b).finish();
    });
}

}  // namespace rubato
