// Two-level reduce. The ranks of a host combine their data at the first of them to arrive, or at the root. These
// leaders do the same among the hosts, where a host arrives when all its ranks have. Both as in clairvoyant_plus.
//
// Cost: that of reduce/clairvoyant_plus within the largest host, then among the hosts: of H hosts, H - 1 vectors cross
// between them. With all ranks on one host it is clairvoyant_plus.
// Rank counts: any, and any number of them on a host. If nothing is known of hosts, each rank has its own.
// Source: ours; leaders as in Karonis et al. 2000.
#include "algorithms/builders.hpp"
#include "algorithms/pattern/host_view.hpp"

namespace rubato {

schedule reduce_two_level(const problem& p, rank me) {
    const host_view h(p, me);
    if (h.hosts() == 1) return std::move(reduce_clairvoyant_plus(p, std::span(&me, 1)).front());
    builder b(p, me, p.segments);
    const slice sum = reduce_in_host(b, h);
    if (h.leads()) {
        const level l = h.among_leaders(host_view::ready::with_all);
        b.embed(reduce_clairvoyant_plus(l.what, std::span(&l.me, 1)).front(), l.who, sum, b.output());
    }
    return std::move(b).finish();
}

}  // namespace rubato
