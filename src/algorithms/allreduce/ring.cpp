// Ring. The vector is cut into a part per rank; each part travels the ring once to be combined and once more, complete,
// to everybody.
//
// Cost: 2 (P-1) alpha + (P-1)/P m (2 beta + gamma). Each part is combined in an order of its own.
// Rank counts: any.
// Source: Patarasuk, Yuan 2009; Hoefler 2008, III.7.
#include "algorithms/pattern/rank_ring.hpp"

namespace rubato {

schedule allreduce_ring(const problem& p, rank me) { return ring_allreduce(p, me, 1); }

}  // namespace rubato
