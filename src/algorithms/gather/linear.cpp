// Linear gather. Every rank sends its chunk to the root, which takes them in the order of ranks.
//
// Cost: (P - 1)(alpha + m beta), m = one chunk. Nothing is sent twice, but the root receives it all.
// Rank counts: any.
// Source: Proficz 2020, 2.1.
#include "algorithms/pattern/movement.hpp"

namespace rubato {

schedule gather_linear(const problem& p, rank me) {
    builder b(p, me, 1);
    if (me != p.root) {
        b.send(p.root, b.input());
    } else {
        for (rank r; r.value < p.ranks; ++r.value)
            if (r != me) b.recv(r, b.output(chunk_of(r)));
        b.copy(b.input(), b.output(chunk_of(me)));
    }
    return std::move(b).finish();
}

}  // namespace rubato
