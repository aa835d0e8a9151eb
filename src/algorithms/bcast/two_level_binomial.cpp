// Two-level binomial broadcast, for small vectors. First among the hosts, to the first rank of each to arrive, down a
// binomial tree in which the last to arrive are leaves; then within each host in the same way.
//
// Cost: (ceil(log2 H) + ceil(log2 p))(L + 2o + s G) for H hosts, p ranks on the largest. H - 1 vectors cross between
// hosts. A rank that comes late makes wait only those of its host that come later still. Rank counts: any, and any
// number of them on a host. If nothing is known of hosts, each rank has its own.
// Source: ours; leaders as in Karonis et al. 2000.
#include "algorithms/builders.hpp"
#include "algorithms/pattern/host_view.hpp"

namespace rubato {

schedule bcast_two_level_binomial(const problem& p, rank me) {
    return bcast_on_two_levels(p, me, bcast_sorted_binomial);
}

}  // namespace rubato
