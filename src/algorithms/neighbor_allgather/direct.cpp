// Every rank sends each of its neighbours the rank's chunk, all at once.
//
// Cost: L + d (o + m G), d = neighbours, m = one chunk.
// Rank counts: any. Graphs: any; an edge from a rank to itself is a copy.
// Source: Hoefler 2008, III.1.2.
#include "algorithms/pattern/neighbours.hpp"

namespace rubato {

schedule neighbor_allgather_direct(const problem& p, rank me) { return along_edges(p, me, false); }

}  // namespace rubato
