// Two-level allreduce. The ranks of a host combine their data at the first of them to arrive as in
// reduce/clairvoyant_plus; these leaders do as in allreduce/clairvoyant among the hosts, a host being there when all
// its ranks are; then the total goes to all ranks of a host.
//
// Cost: that of reduce/clairvoyant_plus within the largest host, of allreduce/clairvoyant among the hosts, and of a
// broadcast within the largest host; only leaders' messages cross between hosts. With all ranks on one host it is
// clairvoyant.
// Rank counts: any, and any number of them on a host. If nothing is known of hosts, each rank has its own.
// Source: ours; leaders as in Karonis et al. 2000.
#include "algorithms/builders.hpp"
#include "algorithms/pattern/host_view.hpp"

namespace rubato {

schedule allreduce_two_level(const problem& p, rank me) {
    const host_view h(p, me);
    if (h.hosts() == 1) return std::move(allreduce_clairvoyant(p, std::span(&me, 1)).front());
    const level l = h.among_leaders(host_view::ready::with_all);
    const schedule among = allreduce_clairvoyant(l.what, std::span(&l.me, 1)).front();
    builder b(p, me, among.parts);
    const slice sum = reduce_in_host(b, h);
    if (h.leads()) b.embed(among, l.who, sum, b.output());
    bcast_in_host(b, h, b.output());
    return std::move(b).finish();
}

}  // namespace rubato
