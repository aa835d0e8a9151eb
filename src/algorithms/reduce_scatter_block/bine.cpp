// Bine butterfly: recursive halving with Bine's partners, at the distances 1, -1, 3, -5, 11, ...: the most data goes to
// the nearest rank, and the least to the farthest.
//
// Cost: (n + 1) alpha + P m beta + (P-1) m gamma for chunks of m bytes, n = log2 P: every rank ends with another rank's
// chunk and sends it there.
// Rank counts: any, as reduce_scatter_block/halving. The order of operands is not kept.
// Source: De Sensi et al. 2025.
#include "algorithms/pattern/butterfly.hpp"

namespace rubato {

schedule reduce_scatter_block_bine(const problem& p, rank me) { return halved_to_owners(p, me, pairing::bine); }

}  // namespace rubato
