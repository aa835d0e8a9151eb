// Gather up the k-ary tree of rank 0, then a broadcast of all chunks down the same tree, both in segments. No rank
// sends more than k + 1 messages for a segment, however many ranks there are.
//
// Cost: about 2 h L + 2 (k + 1)(h + N - 1) o + (1 + k) P m G, m = one chunk, h = depth of the tree, N = segments, k =
// radix, or 2.
// Rank counts: any.
// Source: Hoefler & Moor 2014, 3.1.2, 3.1.4 and Table 2.
#include "algorithms/pattern/movement.hpp"

namespace rubato {

schedule allgather_binary(const problem& p, rank me) {
    builder b(p, me, p.segments);
    const tree t = kary_tree(p.ranks, rank(0), me, p.radix_or(2));
    const auto chunks = static_cast<std::uint32_t>(p.ranks);
    const slice all = b.output(0, chunks);
    b.copy(b.input(), b.output(chunk_of(me)));
    gather_segments(b, t, me, pieces(all, {0, p.ranks}, t.covers));
    for (std::uint32_t s = 0; s < b.parts(); ++s) {
        const slice part = all.sub(s * chunks, chunks);
        if (t.parent) b.recv(*t.parent, part);
        for (const rank child : t.children) b.send(child, part);
    }
    return std::move(b).finish();
}

}  // namespace rubato
