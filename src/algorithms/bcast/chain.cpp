// Linear pipeline. Every rank passes each segment to the next one.
//
// Cost: (P - 2 + N)(L + 2o + s/N G), N = segments. Optimal bandwidth for many segments, at P - 1 latencies.
// Rank counts: any.
// Source: Hoefler & Moor 2014, 3.1.4.
#include "algorithms/pattern/tree.hpp"

namespace rubato {

schedule bcast_chain(const problem& p, rank me) {
    builder b(p, me, p.segments);
    bcast_down(b, ring_chain(p.ranks, p.root, me));
    return std::move(b).finish();
}

}  // namespace rubato
