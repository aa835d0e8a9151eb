// Recursive doubling. In round j ranks whose numbers differ in bit j exchange all they have and combine it.
//
// Cost: n (alpha + m beta + m gamma), n = log2 P.
// Rank counts: any. Beyond the largest power of two, pairs of neighbours are folded into one rank before and served by
// it afterwards: 2 alpha + 2 m beta + m gamma more. The order of operands is kept, even if they commute: of 0 and -0,
// or a number and NaN, a maximum may be the left one, and all ranks must get the same. Source: Thakur, Rabenseifner,
// Gropp 2005, 4.5.
#include "algorithms/pattern/butterfly.hpp"

namespace rubato {

schedule allreduce_recursive_doubling(const problem& p, rank me) { return doubled(p, me, pairing::far_first); }

}  // namespace rubato
