// Binomial reduce to rank 0, which sends everybody its chunk.
//
// Cost: n (alpha + P m (beta + gamma)) + (P - 1)(alpha + m beta), m = one chunk, n = ceil(log2 P); 2 (P - 1) messages
// in all, as `linear`, but rank 0 does not receive them all itself. Rank counts: any; the order of operands is kept.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.3 (the classic way, of which recursive halving is the better for long
// vectors).
#include "algorithms/pattern/movement.hpp"

#include <array>

namespace rubato {

schedule reduce_scatter_block_binomial(const problem& p, rank me) {
    builder b(p, me, 1);
    const auto ranks = static_cast<std::uint32_t>(p.ranks);
    const tree t = knomial_tree(p.ranks, rank(0), me, 2);
    slice sum = b.input(0, ranks);
    std::array<slice, 2> rooms{};
    // A child's ranks are all above those before it.
    for (std::size_t i = t.children.size(); i-- > 0;) {
        slice& received = rooms[i % 2];
        if (received.count == 0) received = b.scratch_chunks(ranks);
        b.recv(t.children[i], received);
        b.combine(sum, received);
        sum = received;
    }
    if (t.parent) {
        b.send(*t.parent, sum);
        b.recv(rank(0), b.output());
        return std::move(b).finish();
    }
    for (std::int32_t r = 1; r < p.ranks; ++r) b.send(rank(r), sum.sub(chunk_of(rank(r))));
    b.copy(sum.sub(0), b.output());
    return std::move(b).finish();
}

}  // namespace rubato
