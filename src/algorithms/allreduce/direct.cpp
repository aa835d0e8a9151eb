// Direct sends. Every rank sends its vector to every other one, all at once, and combines all of them in the order of
// ranks, so that all get the same result to the last bit.
//
// Cost: L + (P - 1)(o + m G) + (P - 1) m gamma; needs scratch for P - 1 vectors, or P.
// Rank counts: any; the order of operands is kept.
// Source: Hoefler & Moor 2014, 3.1.6.
#include "algorithms/pattern/movement.hpp"

namespace rubato {

schedule allreduce_direct(const problem& p, rank me) {
    builder b(p, me, 1);
    std::vector<slice> vectors(static_cast<std::size_t>(p.ranks), b.input());
    for (std::int32_t i = 1; i < p.ranks; ++i) {
        const rank from = around(me, -i, p.ranks);
        b.send(around(me, i, p.ranks), b.input());
        b.recv(from, vectors[chunk_of(from)] = b.scratch_chunks());
    }
    slice sum = vectors.back();
    if (p.ranks > 1 && sum.where == buffer::input) b.copy(b.input(), sum = b.scratch_chunks());
    for (auto left = vectors.rbegin() + 1; left != vectors.rend(); ++left) b.combine(*left, sum);
    b.fence();  // in place, the vector that is sent is in the memory of the result
    b.copy(sum, b.output());
    return std::move(b).finish();
}

}  // namespace rubato
