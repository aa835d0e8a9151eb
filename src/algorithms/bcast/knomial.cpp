// K-nomial tree. In each round every rank that has the data passes it to k - 1 that have not: fewer rounds than a
// binomial tree, with more messages in each. Good where a rank can have several messages under way.
//
// Cost: n (L + o + (k - 1)(o + s G)), n = ceil(log_k P), k = radix, or 4.
// Rank counts: any; the interval of ranks is cut at powers of k, so that there are n rounds.
// Source: Hoefler & Moor 2014, 3.1.3.
#include "algorithms/pattern/tree.hpp"

namespace rubato {

schedule bcast_knomial(const problem& p, rank me) {
    builder b(p, me, 1);
    bcast_down(b, knomial_tree(p.ranks, p.root, me, p.radix_or(4)));
    return std::move(b).finish();
}

}  // namespace rubato
