// Linear scatter. The root sends each rank its chunk, in the order of ranks.
//
// Cost: (P - 1)(alpha + m beta), m = one chunk. Nothing is sent twice, but the root sends it all.
// Rank counts: any.
// Source: Proficz 2020, 2.1.
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/in_order.hpp"

namespace rubato {

schedule scatter_linear(const problem& p, rank me) {
    builder b(p, me, 1);
    scatter_in_order(b, p, me, others(p));
    return std::move(b).finish();
}

}  // namespace rubato
