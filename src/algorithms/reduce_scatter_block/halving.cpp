// Recursive halving. In each round ranks exchange in pairs half of what they still hold, and combine the other half.
//
// Cost: n alpha + (P-1) m (beta + gamma) for chunks of m bytes, n = log2 P. If the operator does not commute, nearer
// ranks must exchange first; then every rank ends with another rank's chunk and sends it there: alpha + m beta more.
// Rank counts: any. Beyond the largest power of two, pairs of neighbours first exchange halves and combine them, one
// hands its half to the other, and gets its chunk from the rank that has it.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.4.
#include "algorithms/pattern/butterfly.hpp"

namespace rubato {

schedule reduce_scatter_block_halving(const problem& p, rank me) {
    const folding fold(p.ranks);
    const halving parts{p, fold, me, p.commutative, fold.pairs};
    builder b(p, me, 1);
    const slice input = b.input(0, static_cast<std::uint32_t>(p.ranks));
    std::optional<slice> last;
    if (p.commutative && !fold.mate(me)) last = b.output().holding(static_cast<block>(me.value), 1);
    const slice home = p.ranks == 2 && last ? *last : parts.make_home(b);
    if (const auto result = parts.reduce_scatter(b, input, home, last)) {
        for (std::uint32_t i = 0; i < result->count; ++i) {
            const rank owner(static_cast<std::int32_t>(result->shape + i));
            if (owner == me)
                b.copy(result->sub(i), b.output());
            else
                b.send(owner, result->sub(i));
        }
    }
    // Positions are numbered as their owners.
    const rank holder = parts.rank_at(fold.number(me));
    if (holder != me) b.recv(holder, b.output());
    return std::move(b).finish();
}

}  // namespace rubato
