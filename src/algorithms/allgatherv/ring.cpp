// Ring. As the allgather, whose messages are single chunks, so that these may lie anywhere.
//
// Cost: P - 1 steps, each as long as the largest chunk under way.
// Rank counts: any.
// Source: Thakur, Rabenseifner & Gropp 2005.
#include "algorithms/builders.hpp"

namespace rubato {

schedule allgatherv_ring(const problem& p, rank me) { return allgather_ring(p, me); }

}  // namespace rubato
