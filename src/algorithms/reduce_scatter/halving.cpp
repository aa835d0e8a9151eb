// Recursive halving. As the reduce_scatter_block: what is exchanged are neighbouring chunks, which lie one after the
// other in the input and in scratch, whatever their sizes.
//
// Cost: n alpha + up to M (beta + gamma) for a vector of M bytes, n = log2 P: the larger of two halves counts. If the
// operator does not commute, alpha + m beta more, m = the largest chunk.
// Rank counts: any, as the reduce_scatter_block.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.4.
#include "algorithms/builders.hpp"

namespace rubato {

schedule reduce_scatter_halving(const problem& p, rank me) { return reduce_scatter_block_halving(p, me); }

}  // namespace rubato
