// Segmented ring. The ring, with each part cut into N segments that follow each other, so that one is received while
// the one before is combined.
//
// Cost: 2 (P-1) N (alpha + m/(P N) beta) + m/(P N) gamma where a rank can combine and communicate at once.
// Rank counts: any.
// Source: Hoefler 2008, III.3.1.2 and III.7; Pjesivac-Grbovic et al. 2007.
#include "algorithms/pattern/rank_ring.hpp"

namespace rubato {

schedule allreduce_segmented_ring(const problem& p, rank me) { return ring_allreduce(p, me, p.segments); }

}  // namespace rubato
