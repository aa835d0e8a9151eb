// Recursive doubling. In round j every rank passes on the combination of the last 2^j ranks up to itself to the rank
// 2^j after it. What it gets it puts in front of that, and in front of its result, which is the same without itself.
//
// Cost: n (alpha + m beta + 2 m gamma), n = ceil(log2 P).
// Rank counts: any; the order of operands is kept.
// Source: Hillis, Steele 1986.
#include "rubato/builder.hpp"

#include <optional>

namespace rubato {

schedule exscan_recursive_doubling(const problem& p, rank me) {
    builder b(p, me, 1);
    slice passed_on = b.input();
    std::optional<slice> operand;
    for (std::int64_t distance = 1; distance < p.ranks; distance *= 2) {
        const auto d = static_cast<std::int32_t>(distance);
        if (me.value < p.ranks - d) b.send(rank(me.value + d), passed_on);
        if (me.value < d) continue;
        if (d > 1 && !operand) operand = b.scratch_chunks();
        const slice received = operand.value_or(b.output());
        b.recv(rank(me.value - d), received);
        if (me.value + 2 * distance < p.ranks) {  // there is a next round for it
            if (passed_on.where == buffer::input) {
                const slice own = b.scratch_chunks();
                b.copy(passed_on, own);
                passed_on = own;
            }
            b.combine(received, passed_on);
        }
        if (d > 1) b.combine(received, b.output());
    }
    return std::move(b).finish();
}

}  // namespace rubato
