// Sorted ring. As the allgather, whose messages are single chunks, so that these may lie anywhere.
//
// Cost: as the allgather's, m the largest chunk: P - 1 steps as long as that. Rank counts: any. Source: ours, after
// Thakur, Rabenseifner & Gropp 2005.
#include "algorithms/builders.hpp"

namespace rubato {

std::vector<schedule> allgatherv_sorted_ring(const problem& p, std::span<const rank> who) {
    return allgather_sorted_ring(p, who);
}

}  // namespace rubato
