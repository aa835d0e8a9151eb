// Two-level allreduce. The ranks of a host combine their data at the first of them to arrive, the leader, as in
// reduce/clairvoyant_plus. Leaders run allreduce/clairvoyant among the hosts, where a host arrives when all its ranks
// have. Then the total goes along a line to all ranks of a host, in the order of arrival.
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
    return allreduce_on_two_levels(p, me, allreduce_clairvoyant, bcast_sorted_chain);
}

}  // namespace rubato
