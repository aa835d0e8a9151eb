// Two-level straggler's allreduce, for small vectors. The ranks of a host combine their data at the first of them to
// arrive, the leader, as in reduce/clairvoyant_plus. Leaders run allreduce/straggler among the hosts, where a host
// arrives when all its ranks have. Then the total goes down a binomial tree to all ranks of a host.
//
// Cost: that of reduce/clairvoyant_plus within the largest host, of allreduce/straggler among the hosts, and of a
// binomial broadcast within the largest host; only leaders' messages cross between hosts. With all ranks on one host it
// is the straggler's.
// Rank counts: any, and any number of them on a host. If nothing is known of hosts, each rank has its own.
// Source: ours; leaders as in Karonis et al. 2000.
#include "algorithms/builders.hpp"
#include "algorithms/pattern/host_view.hpp"

namespace rubato {

schedule allreduce_two_level_straggler(const problem& p, rank me) {
    return allreduce_on_two_levels(p, me, allreduce_straggler, bcast_sorted_binomial);
}

}  // namespace rubato
