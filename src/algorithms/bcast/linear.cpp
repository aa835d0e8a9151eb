// Flat tree. The root sends the data to every other rank, one after the other.
//
// Cost: L + P o + (P - 1) s G; the root sends P - 1 messages.
// Rank counts: any.
// Source: Hoefler & Moor 2014, 3.1.1.
#include "algorithms/pattern/tree.hpp"

namespace rubato {

schedule bcast_linear(const problem& p, rank me) {
    builder b(p, me, 1);
    if (me != p.root) b.recv(p.root, b.output());
    for (rank r; me == p.root && r.value < p.ranks; ++r.value)
        if (r != me) b.send(r, b.input());
    return std::move(b).finish();
}

}  // namespace rubato
