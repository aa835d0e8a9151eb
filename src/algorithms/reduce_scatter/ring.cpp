// Ring. As the reduce_scatter_block, whose messages are single chunks, so that these may differ in size.
//
// Cost: P - 1 steps, each as long as the largest chunk. A chunk on its way has a place of its own, so scratch is what
// other ranks get.
// Rank counts: any.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.4 (with neighbours only).
#include "algorithms/builders.hpp"

namespace rubato {

schedule reduce_scatter_ring(const problem& p, rank me) { return reduce_scatter_block_ring(p, me); }

}  // namespace rubato
