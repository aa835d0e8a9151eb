// Two-level broadcast. First among the hosts, to the first rank of each to arrive, those who come first before the
// others; then within each host in the same way. With several segments along a line, with one down a binomial tree.
//
// Cost: (H + p - 4 + 2N)(L + 2o + s/N G) for H hosts, p ranks on the largest, N segments; with one segment
// (ceil(log2 H) + ceil(log2 p))(L + 2o + s G). H - 1 vectors cross between hosts. A rank that comes late makes wait
// only those of its host that come later still. Rank counts: any, and any number of them on a host. If nothing is known
// of hosts, each rank has its own. Source: ours; leaders as in Karonis et al. 2000.
#include "algorithms/pattern/host_view.hpp"

namespace rubato {

schedule bcast_two_level(const problem& p, rank me) {
    const host_view h(p, me);
    builder b(p, me, p.segments);
    if (h.leads()) {
        const level l = h.among_leaders(host_view::ready::with_first);
        b.embed(bcast_sorted(l), l.who, b.input(), b.output());
    }
    bcast_in_host(b, h, me == p.root ? b.input() : b.output());
    return std::move(b).finish();
}

}  // namespace rubato
