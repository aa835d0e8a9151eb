// Linear allgather. Every rank sends its chunk to rank 0, which sends all of them to everybody.
//
// Cost: (P - 1)(2 alpha + (P + 1) m beta), m = one chunk, at rank 0; only 2 (P - 1) messages in all, so where
// processors are the limit it is the quickest for small chunks. Rank counts: any. Source: Hoefler & Moor 2014, 3.1.1
// (flat tree).
#include "algorithms/pattern/movement.hpp"

namespace rubato {

schedule allgather_linear(const problem& p, rank me) {
    builder b(p, me, 1);
    const slice all = b.output(0, static_cast<std::uint32_t>(p.ranks));
    if (me.value != 0) {
        const auto sent = b.send(rank(0), b.input());
        b.recv(rank(0), all, {sent});  // in place, the chunk to send is in that memory
        return std::move(b).finish();
    }
    for (std::int32_t r = 1; r < p.ranks; ++r) b.recv(rank(r), b.output(chunk_of(rank(r))));
    b.copy(b.input(), b.output(chunk_of(me)));
    for (std::int32_t r = 1; r < p.ranks; ++r) b.send(rank(r), all);
    return std::move(b).finish();
}

}  // namespace rubato
