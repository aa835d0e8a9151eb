// Sorted pairwise exchange. As the alltoall, whose messages are single chunks, so that these may lie anywhere.
//
// Cost: as the alltoall's, each exchange as long as its largest chunk.
// Rank counts: any.
// Source: ours, after Thakur, Rabenseifner & Gropp 2005.
#include "algorithms/builders.hpp"

namespace rubato {

std::vector<schedule> alltoallv_sorted_pairwise(const problem& p, std::span<const rank> who) {
    return alltoall_sorted_pairwise(p, who);
}

}  // namespace rubato
