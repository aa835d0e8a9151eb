// Linear gatherv. As the linear gather, which receives each chunk by itself, so that chunks may lie anywhere.
//
// Cost: P - 1 messages, each chunk sent once.
// Rank counts: any.
// Source: Proficz 2020, 2.1.
#include "algorithms/builders.hpp"

namespace rubato {

schedule gatherv_linear(const problem& p, rank me) { return gather_linear(p, me); }

}  // namespace rubato
