// Linear reduce-scatter. Every rank sends its vector to rank 0, which combines them and sends everybody its chunk.
//
// Cost: (P - 1)(2 alpha + (P + 1) m beta + P m gamma), m = one chunk, at rank 0; only 2 (P - 1) messages in all, so
// where processors are the limit it is the quickest for small chunks. Rank counts: any. Source: Hoefler & Moor
// 2014, 3.1.1 (flat tree).
#include "algorithms/pattern/movement.hpp"

#include <array>

namespace rubato {

schedule reduce_scatter_block_linear(const problem& p, rank me) {
    builder b(p, me, 1);
    const auto ranks = static_cast<std::uint32_t>(p.ranks);
    const slice own = b.input(0, ranks);
    if (me.value != 0) {
        b.send(rank(0), own);
        b.recv(rank(0), b.output());
        return std::move(b).finish();
    }
    slice sum = own;
    std::array<slice, 2> rooms{};
    for (std::int32_t r = 1; r < p.ranks; ++r) {
        slice& room = rooms[static_cast<std::size_t>(r % 2)];
        if (r == 1) sum = b.scratch_chunks(ranks);
        if (r > 1 && room.count == 0) room = b.scratch_chunks(ranks);
        const slice received = r == 1 ? sum : room;
        b.recv(rank(r), received);
        b.combine(r == 1 ? own : received, sum);
    }
    for (std::int32_t r = 1; r < p.ranks; ++r) b.send(rank(r), sum.sub(chunk_of(rank(r))));
    b.copy(sum.sub(0), b.output());
    return std::move(b).finish();
}

}  // namespace rubato
