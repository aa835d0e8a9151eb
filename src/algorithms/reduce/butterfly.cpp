// Butterfly (Rabenseifner's reduce, binary swap). A reduce-scatter by recursive halving, then the parts are gathered at
// the root by a binomial tree.
//
// Cost: 2 n alpha + (P-1)/P m (2 beta + gamma), n = log2 P.
// Rank counts: any. Beyond the largest power of two, pairs of neighbours first exchange halves and combine them, and
// one hands its half to the other, which is the root if the root is one of them: 2 alpha + m beta + m/2 gamma more.
// Source: Marendic et al. 2016, 5.5.3 and Table 3; Rabenseifner 2004.
#include "algorithms/pattern/butterfly.hpp"
#include "algorithms/pattern/movement.hpp"

namespace rubato {

schedule reduce_butterfly(const problem& p, rank me) {
    const folding fold(p.ranks, p.root);
    const halving parts{p, fold, me};
    builder b(p, me, fold.size);
    const slice home = me == p.root ? b.output() : parts.make_home(b);
    if (const auto result = parts.reduce_scatter(b, b.input(), home)) {
        const auto position = [&parts](rank r) { return rank(static_cast<std::int32_t>(parts.position(r))); };
        const tree t = knomial_tree(static_cast<std::int32_t>(fold.size), position(p.root), position(me), 2);
        b.copy(*result, parts.at(home, parts.position(me)));
        gather_up(b, t, parts.at(home, static_cast<block>(t.covers.low), static_cast<std::uint32_t>(t.covers.size())),
                  [&parts](rank at) { return parts.rank_at(chunk_of(at)); });
    }
    return std::move(b).finish();
}

}  // namespace rubato
