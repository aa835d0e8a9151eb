// Direct sends. As the alltoall, whose messages are single chunks, so that these may lie anywhere.
//
// Cost: L + (P - 1) o + G times what a rank sends.
// Rank counts: any.
// Source: Hoefler & Moor 2014, 3.1.6.
#include "algorithms/builders.hpp"

namespace rubato {

schedule alltoallv_direct(const problem& p, rank me) { return alltoall_direct(p, me); }

}  // namespace rubato
