// Every rank sends each of its neighbours its vector, first to those who are there, and combines what comes at once.
//
// Cost: as direct, if all have arrived. Else the last vector is the only one left to combine.
// Rank counts: any. Graphs: any; a rank that is a source several times counts once.
// Source: ours.
#include "algorithms/pattern/neighbours.hpp"

namespace rubato {

schedule neighbor_reduce_sorted(const problem& p, rank me) { return reduced_along_edges(p, me, true); }

}  // namespace rubato
