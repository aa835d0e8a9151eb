// Rabenseifner's algorithm. A reduce-scatter by recursive halving, then an allgather by recursive doubling on the same
// paths backwards.
//
// Cost: 2 n alpha + (P-1)/P m (2 beta + gamma), n = log2 P.
// Rank counts: any. Beyond the largest power of two, pairs of neighbours first exchange halves and combine them, one
// hands its half to the other, and gets the result from it in the end: 3 alpha + 2 m beta + m/2 gamma more.
// The order of operands is kept.
// Source: Rabenseifner 2004.
#include "algorithms/pattern/butterfly.hpp"

namespace rubato {

schedule allreduce_rabenseifner(const problem& p, rank me) { return halved_and_gathered(p, me, pairing::near_first); }

}  // namespace rubato
