// Direct sends. Every rank sends each other one its chunk, all at once, beginning with the following rank, so that not
// all send to the same one.
//
// Cost: L + (P - 1)(o + m G), m = one chunk.
// Rank counts: any.
// Source: Hoefler & Moor 2014, 3.1.6.
#include "algorithms/pattern/movement.hpp"

namespace rubato {

schedule alltoall_direct(const problem& p, rank me) {
    builder b(p, me, 1);
    // In an allgather every rank is sent the same chunk.
    const auto chunk_for = [&](rank r) { return traits(p.what).wide_input ? b.input(chunk_of(r)) : b.input(); };
    for (std::int32_t i = 1; i < p.ranks; ++i) {
        const rank to = around(me, i, p.ranks);
        const rank from = around(me, -i, p.ranks);
        b.send(to, chunk_for(to));
        b.recv(from, b.output(chunk_of(from)));
    }
    b.copy(chunk_for(me), b.output(chunk_of(me)));
    return std::move(b).finish();
}

}  // namespace rubato
