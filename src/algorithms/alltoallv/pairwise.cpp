// Pairwise exchange. As the alltoall, whose messages are single chunks, so that these may lie anywhere.
//
// Cost: P - 1 steps, each as long as its largest chunk.
// Rank counts: any.
// Source: Thakur, Rabenseifner & Gropp 2005.
#include "algorithms/builders.hpp"

namespace rubato {

schedule alltoallv_pairwise(const problem& p, rank me) { return alltoall_pairwise(p, me); }

}  // namespace rubato
