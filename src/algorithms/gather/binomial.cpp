// Binomial gather. In each round half of the ranks that still hold chunks hand them to the other half.
//
// Cost: n alpha + (P - 1) m beta, n = ceil(log2 P), m = one chunk. Inner ranks hold their subtree's chunks in scratch.
// Rank counts: any; subtrees are intervals of ranks, so their chunks are consecutive for any root.
// Source: Proficz 2020, 2.1; Hoefler & Moor 2014, 3.1.3.
#include "algorithms/pattern/movement.hpp"

namespace rubato {

schedule gather_binomial(const problem& p, rank me) {
    builder b(p, me, 1);
    const tree t = knomial_tree(p.ranks, p.root, me, 2);
    const auto chunks = static_cast<std::uint32_t>(t.covers.size());
    const slice data = !t.parent     ? b.output(0, chunks)
                       : chunks == 1 ? b.input()
                                     : b.scratch_chunks(chunks, chunk_of(me));
    b.copy(b.input(), piece(data, t.covers, me));
    gather_up(b, t, data, std::identity{});
    return std::move(b).finish();
}

}  // namespace rubato
