// Linear: everybody sends to the root, which combines what comes.
//
// Cost: (P-1) (alpha + m beta + m gamma).
// Rank counts: any. The root takes nearer ranks first, so the order of operands is kept.
// Source: Hoefler & Moor 2014, 3.1.1 (flat tree).
#include "algorithms/pattern/tree.hpp"

namespace rubato {
namespace {

tree flat(const problem& p, rank me) {
    tree t;
    if (me != p.root) {
        t.parent = p.root;
    } else {
        for (std::int32_t distance = p.ranks - 1; distance > 0; --distance)
            for (const std::int32_t r : {me.value - distance, me.value + distance})
                if (r >= 0 && r < p.ranks) t.children.emplace_back(r);
    }
    return t;
}

}  // namespace

schedule reduce_linear(const problem& p, rank me) {
    builder b(p, me, 1);
    reduce_up(b, p, me, flat(p, me));
    return std::move(b).finish();
}

schedule reduce_linear_own_last(const problem& p, rank me) {
    builder b(p, me, 1);
    reduce_up_own_last(b, p, me, flat(p, me));
    return std::move(b).finish();
}

}  // namespace rubato
