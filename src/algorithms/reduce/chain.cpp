// Chain (linear pipeline). The ranks stand in a line that ends in the root, and segments pass along it one behind the
// other, each rank adding its own.
//
// Cost: (P-2+N) (alpha + m/N (beta + gamma)) for N segments. If the operator does not commute, two lines from the
// lowest and the highest rank meet in the root, which then receives twice as much.
// Rank counts: any.
// Source: Marendic et al. 2016, Table 3.
#include "../tree.hpp"

namespace rubato {

schedule reduce_chain(const problem& p, rank me) {
    builder b(p, me, p.segments);
    reduce_up(b, p, me, p.commutative ? ring_chain(p.ranks, p.root, me) : two_sided_chain(p.ranks, p.root, me));
    return std::move(b).finish();
}

}  // namespace rubato
