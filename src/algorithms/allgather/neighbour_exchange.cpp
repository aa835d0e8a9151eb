// Neighbour exchange. Ranks exchange chunks with the neighbours on their two sides in turn: first their own chunk, then
// always the two chunks they got last. So chunks travel in pairs, in half the rounds of a ring.
//
// Cost: P/2 alpha + (P - 1) m beta, m = one chunk.
// Rank counts: even ones, so that the pairs close the ring.
// Source: Chen et al. 2005.
#include "algorithms/pattern/movement.hpp"

namespace rubato {

schedule allgather_neighbour_exchange(const problem& p, rank me) {
    builder b(p, me, 1);
    const std::int32_t pairs = p.ranks / 2;
    const rank own_pair(me.value / 2);
    const auto side = [me](std::int32_t round) { return (me.value + round) % 2 == 0 ? 1 : -1; };
    const auto exchange = [&](std::int32_t round, slice newest, slice next) {
        const rank peer = around(me, side(round), p.ranks);
        b.send(peer, newest);
        b.recv(peer, next);
    };
    if (pairs > 0) exchange(0, b.input(), b.output(chunk_of(me) ^ 1));
    b.copy(b.input(), b.output(chunk_of(me)));
    slice newest = b.output(2 * chunk_of(own_pair), 2);
    for (std::int32_t round = 1; round < pairs; ++round) {
        const rank pair = around(own_pair, std::int64_t{side(round)} * ((round + 1) / 2), pairs);
        const slice next = b.output(2 * chunk_of(pair), 2);
        exchange(round, newest, next);
        newest = next;
    }
    return std::move(b).finish();
}

}  // namespace rubato
