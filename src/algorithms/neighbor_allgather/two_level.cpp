// One message from a host to another: the ranks of a host hand what is for other hosts to the first of them to arrive,
// which exchanges it with the leaders of these, and hands on what comes. Within a host ranks send to each other.
// A rank's chunk goes to a host once, however many neighbours it has there.
//
// Cost: h alpha + c m beta at a leader, h = hosts with neighbours, c = chunks that go there, m = one chunk, and what
// passes within the host before and after.
// Rank counts: any, and any number of them on a host. Graphs: any. If nothing is known of hosts, each rank has its own.
// Source: ours; as in Collom et al. 2023 (locality-aware neighbour collectives).
#include "algorithms/pattern/neighbours.hpp"

namespace rubato {

schedule neighbor_allgather_two_level(const problem& p, rank me) { return between_hosts(p, me); }

}  // namespace rubato
