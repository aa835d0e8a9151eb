// Linear scatterv. As the linear scatter, which sends each chunk by itself, so that chunks may lie anywhere.
//
// Cost: P - 1 messages, each chunk sent once.
// Rank counts: any.
// Source: Proficz 2020, 2.1.
#include "algorithms/builders.hpp"

namespace rubato {

schedule scatterv_linear(const problem& p, rank me) { return scatter_linear(p, me); }

}  // namespace rubato
