// Sorted ring. As the allgather, whose messages are pieces of single chunks, so that these may lie anywhere.
//
// Cost: as the allgather's, m the largest chunk: P - 1 steps as long as that. After a last arrival, begun early, M
// bytes of its chunk take (P - 2 + N)(alpha + M/N beta). Rank counts: any. Source: ours, after Thakur, Rabenseifner &
// Gropp 2005.
#include "../builders.hpp"

namespace rubato {

schedule allgatherv_sorted_ring(const problem& p, rank me) { return allgather_sorted_ring(p, me); }
schedule allgatherv_sorted_ring_early(const problem& p, rank me) { return allgather_sorted_ring_early(p, me); }

}  // namespace rubato
