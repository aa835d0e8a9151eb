// Bine butterfly. As the reduce_scatter_block: what is exchanged are neighbouring chunks, whatever their sizes.
//
// Cost: (n + 1) alpha + up to M (beta + gamma) + m beta for a vector of M bytes, n = log2 P, m = the largest chunk.
// Rank counts: any, as the reduce_scatter_block. The order of operands is not kept.
// Source: De Sensi et al. 2025.
#include "algorithms/builders.hpp"

namespace rubato {

schedule reduce_scatter_bine(const problem& p, rank me) { return reduce_scatter_block_bine(p, me); }

}  // namespace rubato
