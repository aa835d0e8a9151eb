// Optimal tree, upwards: the broadcast's in reverse. A rank takes in one vector after the other, first those of small
// subtrees. k, the radix, says how many of them it takes in while one is on its way.
//
// Cost: T o if L + 2o + s G = k o, k = radix, or 2; F(T) >= P, F(t) = F(t-1) + F(t-k).
// Rank counts: any. Operators must commute, as subtrees are counted from the root.
// Source: Karp et al. 1993; Hoefler & Moor 2014, 3.1.3.
#include "algorithms/pattern/tree.hpp"

namespace rubato {

schedule reduce_fibonacci(const problem& p, rank me) {
    builder b(p, me, 1);
    reduce_up(b, p, me, fibonacci_tree(p.ranks, p.root, me, p.radix_or(2)));
    return std::move(b).finish();
}

}  // namespace rubato
