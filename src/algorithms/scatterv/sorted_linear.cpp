// Sorted linear scatterv. As the sorted linear scatter, which sends each chunk by itself, so that chunks may lie
// anywhere.
//
// Cost: P - 1 messages, each chunk sent once.
// Rank counts: any.
// Source: Proficz 2020, Figs 5 and 6.
#include "../builders.hpp"

namespace rubato {

schedule scatterv_sorted_linear(const problem& p, rank me) { return scatter_sorted_linear(p, me); }

}  // namespace rubato
