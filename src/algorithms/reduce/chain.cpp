// Chain (linear pipeline). The ranks stand in a line that ends in the root, and segments pass along it one behind the
// other, each rank adding its own.
//
// Cost: (P-2+N) (alpha + m/N (beta + gamma)) for N segments. If the operator does not commute, two lines from the
// lowest and the highest rank meet in the root, which then receives twice as much.
// Rank counts: any.
// Source: Marendic et al. 2016, Table 3.
#include "algorithms/pattern/tree.hpp"

namespace rubato {
namespace {

tree line(const problem& p, rank me) {
    return p.commutative ? ring_chain(p.ranks, p.root, me) : two_sided_chain(p.ranks, p.root, me);
}

}  // namespace

schedule reduce_chain(const problem& p, rank me) {
    builder b(p, me, p.segments);
    reduce_up(b, p, me, line(p, me));
    return std::move(b).finish();
}

schedule reduce_chain_own_last(const problem& p, rank me) {
    builder b(p, me, p.segments);
    reduce_up_own_last(b, p, me, line(p, me));
    return std::move(b).finish();
}

}  // namespace rubato
