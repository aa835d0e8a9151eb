// Direct sends. As the alltoall, but everyone is sent the same chunk. No chunk waits for another, so a late rank delays
// its own only.
//
// Cost: L + (P - 1)(o + m G), m = one chunk.
// Rank counts: any.
// Source: Hoefler & Moor 2014, 3.1.6.
#include "algorithms/builders.hpp"

namespace rubato {

schedule allgather_direct(const problem& p, rank me) { return alltoall_direct(p, me); }

}  // namespace rubato
