// Every rank sends each of its neighbours its vector, all at once, and combines what it gets.
//
// Cost: L + d (o + m G + m gamma), d = neighbours.
// Rank counts: any. Graphs: any; a rank that is a source several times counts once.
// Source: Hoefler 2008, III.1.4.
#include "algorithms/pattern/neighbours.hpp"

namespace rubato {

schedule neighbor_reduce_direct(const problem& p, rank me) { return reduced_along_edges(p, me, false); }

}  // namespace rubato
