// Optimal tree. A rank that has the data sends it to one rank after the other, and who gets it first has most others
// below. No tree reaches all ranks sooner if a message takes as long as k sends of its sender; which k that is depends
// on the network and on the size. With k = 1 the tree is binomial, with k = 2 its subtrees have Fibonacci's numbers.
//
// Cost: T (o + s G) if L + 2o + s G = k (o + s G), k = radix, or 2; F(T) >= P, F(t) = F(t-1) + F(t-k).
// Rank counts: any; of the ranks that would be reached last, some are missing.
// Source: Karp et al. 1993; Hoefler & Moor 2014, 3.1.3.
#include "algorithms/pattern/tree.hpp"

namespace rubato {

schedule bcast_fibonacci(const problem& p, rank me) {
    builder b(p, me, 1);
    bcast_down(b, fibonacci_tree(p.ranks, p.root, me, p.radix_or(2)));
    return std::move(b).finish();
}

}  // namespace rubato
