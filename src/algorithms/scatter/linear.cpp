// Linear scatter. The root sends each rank its chunk, in the order of ranks.
//
// Cost: (P - 1)(alpha + m beta), m = one chunk. Nothing is sent twice, but the root sends it all.
// Rank counts: any.
// Source: Proficz 2020, 2.1.
#include "../movement.hpp"

namespace rubato {

schedule scatter_linear(const problem& p, rank me) {
    builder b(p, me, 1);
    if (me != p.root) {
        b.recv(p.root, b.output());
    } else {
        for (rank r; r.value < p.ranks; ++r.value)
            if (r != me) b.send(r, b.input(chunk_of(r)));
        b.copy(b.input(chunk_of(me)), b.output());
    }
    return std::move(b).finish();
}

}  // namespace rubato
