// Bruck's allgather. In the round of distance w, each rank has w chunks, its own and those that follow around the ring;
// it sends them to the rank w places before and gets the next w from the rank w places on.
//
// Cost: n alpha + (P - 1) m beta, n = ceil(log2 P), m = one chunk.
// Rank counts: any; the last round moves what is left. What is sent must be consecutive, so the first half is gathered
// in scratch where it goes around the end of the output, and so is the last message; the rest is received in its place.
// Source: Bruck et al. 1997.
#include "algorithms/pattern/movement.hpp"

#include <algorithm>

namespace rubato {

schedule allgather_bruck(const problem& p, rank me) {
    builder b(p, me, 1);
    const slice all = b.output(0, static_cast<std::uint32_t>(p.ranks));
    const auto places = [&](rank first, std::int32_t n) { return ring_slices(all, first, n, p.ranks); };
    const auto room = [&](rank first, std::int32_t n) {
        const std::vector<slice> runs = places(first, n);
        return runs.size() == 1 ? runs[0] : b.scratch_chunks(static_cast<std::uint32_t>(n));
    };
    const auto half = static_cast<std::int32_t>(floor_power_of_two(p.ranks - 1));  // what a rank has before the end
    const rank middle = around(me, half, p.ranks);
    const slice front = room(me, half);
    const slice back = room(middle, p.ranks - half);

    const auto exchange = [&](std::int32_t w, slice have) {
        const auto n = static_cast<std::uint32_t>(w);
        b.send(around(me, -w, p.ranks), have);
        b.recv(around(me, w, p.ranks), w == half ? back : front.sub(n, n));
    };
    if (p.ranks > 1) exchange(1, b.input());  // from the input, so as not to wait for the copy
    b.copy(b.input(), b.output(chunk_of(me)));
    if (front.where == buffer::scratch) b.copy(b.input(), front.sub(0));
    for (std::int32_t w = 2; w < p.ranks; w *= 2)
        exchange(w, front.sub(0, static_cast<std::uint32_t>(std::min(w, p.ranks - w))));
    if (front.where == buffer::scratch)
        unpack(b, front.sub(1, front.count - 1), places(around(me, 1, p.ranks), half - 1));
    if (back.where == buffer::scratch) unpack(b, back, places(middle, p.ranks - half));
    return std::move(b).finish();
}

}  // namespace rubato
