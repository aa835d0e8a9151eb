// Recursive halving. In each round ranks exchange in pairs half of what they still hold, and combine the other half.
//
// Cost: n alpha + (P-1) m (beta + gamma) for chunks of m bytes, n = log2 P. If the operator does not commute, nearer
// ranks must exchange first; then every rank ends with another rank's chunk and sends it there: alpha + m beta more.
// Rank counts: any. Beyond the largest power of two, pairs of neighbours first exchange halves and combine them, one
// hands its half to the other, and gets its chunk from the rank that has it.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.4.
#include "algorithms/pattern/butterfly.hpp"

namespace rubato {

schedule reduce_scatter_block_halving(const problem& p, rank me) {
    return halved_to_owners(p, me, p.commutative ? pairing::far_first : pairing::near_first);
}

}  // namespace rubato
