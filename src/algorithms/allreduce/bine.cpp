// Bine butterfly: Rabenseifner's algorithm with Bine's partners, at the distances 1, -1, 3, -5, 11, ... instead of 1,
// 2, 4, 8, 16: the most data goes to the nearest rank, and what goes far goes less far.
//
// Cost: 2 n alpha + (P-1)/P m (2 beta + gamma), n = log2 P.
// Rank counts: any, as allreduce/rabenseifner. The order of operands is not kept, but it is the same for all ranks.
// Source: De Sensi et al. 2025.
#include "algorithms/pattern/butterfly.hpp"

namespace rubato {

schedule allreduce_bine(const problem& p, rank me) { return halved_and_gathered(p, me, pairing::bine); }

}  // namespace rubato
