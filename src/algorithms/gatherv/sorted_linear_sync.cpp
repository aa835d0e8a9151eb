// Sorted linear synchronised gatherv. As the sorted linear synchronised gather, which receives each chunk by itself, so
// that chunks may lie anywhere.
//
// Cost: P - 1 requests and twice as many messages, each chunk sent once.
// Rank counts: any.
// Source: Proficz 2020, Figs 9 and 10.
#include "algorithms/builders.hpp"

namespace rubato {

std::vector<schedule> gatherv_sorted_linear_sync(const problem& p, std::span<const rank> who) {
    return gather_sorted_linear_sync(p, who);
}

}  // namespace rubato
