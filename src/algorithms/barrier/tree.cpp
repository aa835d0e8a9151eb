// Tree barrier. Word that all are there goes up a binomial tree to rank 0, and then down again.
//
// Cost: 2n (L + 2o), n = ceil(log2 P); only 2 (P - 1) messages in all.
// Rank counts: any.
// Source: Hoefler 2008, II.3.1.1.
#include "../tree.hpp"

namespace rubato {

schedule barrier_tree(const problem& p, rank me) {
    builder b(p, me, 1);
    const tree t = knomial_tree(p.ranks, rank(0), me, 2);
    for (std::size_t i = t.children.size(); i-- > 0;) b.recv(t.children[i], builder::nothing());
    b.fence();
    if (t.parent) {
        b.send(*t.parent, builder::nothing());
        b.recv(*t.parent, builder::nothing());
        b.fence();
    }
    for (const rank child : t.children) b.send(child, builder::nothing());
    return std::move(b).finish();
}

}  // namespace rubato
