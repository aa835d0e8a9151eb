// Bruck's alltoall. The chunk for the rank d places before has distance d, and travels once for every bit of d: in the
// round of distance w, each rank sends all chunks with that bit in their distance to the rank w places before. On its
// way a chunk lies in the output chunk d places on, where it belongs when it has arrived.
//
// Cost: n alpha + n P/2 m beta, n = ceil(log2 P), m = one chunk, and twice that in copies. For small chunks.
// Rank counts: any.
// Source: Bruck et al. 1997; without its rotations, as Traff et al. 2014.
#include "algorithms/pattern/movement.hpp"

#include <algorithm>
#include <utility>

namespace rubato {

schedule alltoall_bruck(const problem& p, rank me) {
    builder b(p, me, 1);
    const slice all = b.output(0, static_cast<std::uint32_t>(p.ranks));
    const slice outgoing = b.scratch_chunks(static_cast<std::uint32_t>(p.ranks / 2));
    const slice incoming = b.scratch_chunks(static_cast<std::uint32_t>(p.ranks / 2));
    for (std::int32_t w = 1; w < p.ranks; w *= 2) {
        // Distances with this bit come in runs of w; the first of each has no lower bit, so its chunk starts here.
        std::uint32_t count = 0;
        const auto pack = [&](slice run) {
            b.copy(run, outgoing.sub(std::exchange(count, count + run.count), run.count));
        };
        std::vector<slice> places;
        for (std::int32_t d = w; d < p.ranks; d += 2 * w) {
            const std::int32_t n = std::min(w, p.ranks - d);
            pack(b.input(chunk_of(around(me, -d, p.ranks))));
            for (const slice run : ring_slices(all, around(me, d + 1, p.ranks), n - 1, p.ranks)) pack(run);
            for (const slice run : ring_slices(all, around(me, d, p.ranks), n, p.ranks)) places.push_back(run);
        }
        b.send(around(me, -w, p.ranks), outgoing.sub(0, count));
        const slice received = places.size() == 1 ? places[0] : incoming.sub(0, count);
        b.recv(around(me, w, p.ranks), received);
        if (places.size() > 1) unpack(b, received, places);
    }
    b.copy(b.input(chunk_of(me)), b.output(chunk_of(me)));
    return std::move(b).finish();
}

}  // namespace rubato
