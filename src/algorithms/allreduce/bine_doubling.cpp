// Recursive doubling with Bine's partners: in each round, pairs exchange all they have and combine it. The farthest
// come first: then those who have the same sum have added it up in the same way, and all ranks get the same result.
//
// Cost: n (alpha + m beta + m gamma), n = log2 P.
// Rank counts: any. Beyond the largest power of two, pairs of neighbours are folded into one rank before and served by
// it afterwards: 2 alpha + 2 m beta + m gamma more. The order of operands is that of positions (halving::position).
// Source: De Sensi et al. 2025.
#include "algorithms/pattern/butterfly.hpp"

namespace rubato {

schedule allreduce_bine_doubling(const problem& p, rank me) { return doubled(p, me, pairing::bine); }

}  // namespace rubato
