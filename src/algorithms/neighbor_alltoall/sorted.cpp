// Every rank sends each of its neighbours the chunk for it, first to those who are there.
//
// Cost: as direct, if all have arrived. A link is free for the last neighbour when it comes.
// Rank counts: any. Graphs: any; an edge from a rank to itself is a copy.
// Source: ours.
#include "algorithms/pattern/neighbours.hpp"

namespace rubato {

schedule neighbor_alltoall_sorted(const problem& p, rank me) { return along_edges(p, me, true); }

}  // namespace rubato
