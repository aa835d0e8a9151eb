// Recursive doubling. In round j every rank passes on the combination of the last 2^j ranks up to itself to the rank
// 2^j after it, and puts what it gets in front of its own.
//
// Cost: n (alpha + m beta + m gamma), n = ceil(log2 P).
// Rank counts: any; the order of operands is kept.
// Source: Hillis, Steele 1986.
#include "algorithms/pattern/partial.hpp"

namespace rubato {

schedule scan_recursive_doubling(const problem& p, rank me) {
    builder b(p, me, 1);
    // Where the order does not matter, the sum moves: then it need not wait until the one before is sent.
    const int operands = ceil_log2(std::int64_t{me.value} + 1);
    partial sum = partial_vector(b, false, p.commutative && operands > 0 ? operands - 1 : 0);
    for (std::int64_t distance = 1; distance < p.ranks; distance *= 2) {
        const auto d = static_cast<std::int32_t>(distance);
        if (me.value < p.ranks - d) b.send(rank(me.value + d), sum.value());
        if (me.value >= d) sum.absorb(rank(me.value - d), p.commutative);
    }
    b.copy(sum.value(), b.output());
    return std::move(b).finish();
}

}  // namespace rubato
