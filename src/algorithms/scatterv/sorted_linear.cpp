// Sorted linear scatterv. As the sorted linear scatter, which sends each chunk by itself, so that chunks may lie
// anywhere.
//
// Cost: P - 1 messages, each chunk sent once.
// Rank counts: any.
// Source: Proficz 2020, Figs 5 and 6.
#include "algorithms/builders.hpp"

namespace rubato {

std::vector<schedule> scatterv_sorted_linear(const problem& p, std::span<const rank> who) {
    return scatter_sorted_linear(p, who);
}

}  // namespace rubato
