// Linear synchronised gather. The root asks one rank after the other for its chunk, which comes in two segments, and
// asks the next one when the first segment is there. So it is not flooded, and a request overlaps the second segment.
//
// Cost: alpha + (P - 1)(2 alpha + m beta), m = one chunk.
// Rank counts: any.
// Source: Proficz 2020, Fig. 9, without the sorting.
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/in_order.hpp"

namespace rubato {

schedule gather_linear_sync(const problem& p, rank me) {
    builder b(p, me, 2);
    gather_in_order(b, p, me, others(p));
    return std::move(b).finish();
}

}  // namespace rubato
