// Linear gather to rank 0, then a binomial broadcast of all chunks.
//
// Cost: (P - 1)(alpha + m beta) + n (alpha + P m beta), m = one chunk, n = ceil(log2 P); 2 (P - 1) messages in all, as
// `linear`, but rank 0 does not send them all itself.
// Rank counts: any.
// Source: Hoefler & Moor 2014, 3.1.1 and 3.1.3.
#include "algorithms/pattern/movement.hpp"

namespace rubato {

schedule allgather_gather_bcast(const problem& p, rank me) {
    builder b(p, me, 1);
    const tree t = knomial_tree(p.ranks, rank(0), me, 2);
    const slice all = b.output(0, static_cast<std::uint32_t>(p.ranks));
    if (t.parent) {
        const auto sent = b.send(rank(0), b.input());
        b.recv(*t.parent, all, {sent});  // in place, the chunk to send is in that memory
    } else {
        for (std::int32_t r = 1; r < p.ranks; ++r) b.recv(rank(r), b.output(chunk_of(rank(r))));
        b.copy(b.input(), b.output(chunk_of(me)));
    }
    sends_in_turn in_turn(b);
    for (const rank child : t.children) in_turn.send(child, all);
    return std::move(b).finish();
}

}  // namespace rubato
