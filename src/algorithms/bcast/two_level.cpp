// Two-level broadcast. First among the hosts, to the first rank of each to arrive, along a line in the order of
// arrival; then within each host in the same way.
//
// Cost: (H + p - 4 + 2N)(L + 2o + s/N G) for H hosts, p ranks on the largest, N segments. H - 1 vectors cross between
// hosts. A rank that comes late makes wait only those of its host that come later still. Rank counts: any, and any
// number of them on a host. If nothing is known of hosts, each rank has its own.
// Source: ours; leaders as in Karonis et al. 2000.
#include "algorithms/builders.hpp"
#include "algorithms/pattern/host_view.hpp"

namespace rubato {

schedule bcast_two_level(const problem& p, rank me) { return bcast_on_two_levels(p, me, bcast_sorted_chain); }

}  // namespace rubato
