// Scatter, then ring. A binomial tree leaves each rank one piece of the data, and the pieces then go around the ring.
// Inner ranks of the tree keep the pieces that passed through them, and the root has all: no rank is sent what it has.
//
// Cost: (n + P - 1) alpha + 2 (P - 1)/P s beta, n = ceil(log2 P). For long data; each rank sends to one neighbour only.
// Rank counts: any.
// Source: Thakur, Rabenseifner & Gropp 2005; the messages left out: Zhou et al. 2015.
#include "algorithms/pattern/movement.hpp"

namespace rubato {

schedule bcast_scatter_ring(const problem& p, rank me) {
    builder b(p, me, static_cast<std::uint32_t>(p.ranks));
    const interval all{0, p.ranks};
    const tree t = knomial_tree(p.ranks, p.root, me, 2);
    const slice data = t.parent ? b.output() : b.input();
    scatter_down(b, t, pieces(data, all, t.covers));
    const interval theirs = knomial_tree(p.ranks, p.root, around(me, 1, p.ranks), 2).covers;
    pass_around(b, me, p.ranks, piece(data, all, me), data, t.covers, theirs);
    return std::move(b).finish();
}

}  // namespace rubato
