#include "schedules/algorithms/pattern/rank_ring.hpp"

#include "schedules/algorithms/pattern/butterfly.hpp"
#include "schedules/algorithms/pattern/movement.hpp"

#include <fmt/format.h>

namespace rubato::schedules {

void ring_reduce_scatter(builder& b, std::int32_t ranks, rank me, std::uint32_t segments,
                         const std::function<slice(block)>& input,
                         const std::function<slice(block, std::uint32_t)>& place,
                         const std::function<rank(rank)>& rank_at) {
    // A part starts at the rank after its owner. In turn i, this rank sends the part of the rank 1 + i / segments
    // places before it, and receives that of the one before.
    const auto block_of = [&](std::uint32_t i, std::int32_t before) {
        const rank owner = around(me, -before - static_cast<std::int32_t>(i / segments), ranks);
        return chunk_of(owner) * segments + i % segments;
    };
    const std::uint32_t turns = static_cast<std::uint32_t>(ranks - 1) * segments;
    // What is sent next was combined `segments` turns ago, so with several segments a combination can wait for a turn.
    const std::uint32_t lag = segments > 1 ? 1 : 0;
    for (std::uint32_t i = 0; i < turns + lag; ++i) {
        if (i < turns) {
            const block sent = block_of(i, 1);
            b.send(rank_at(around(me, 1, ranks)), i < segments ? input(sent) : place(sent, i - segments));
            b.recv(rank_at(around(me, -1, ranks)), place(block_of(i, 2), i));
        }
        if (i >= lag && i - lag < turns) {
            const block received = block_of(i - lag, 2);
            b.combine(input(received), place(received, i - lag));
        }
    }
}

schedule ring_allreduce(const problem& p, rank me, std::uint32_t segments) {
    const auto ranks = static_cast<std::uint32_t>(p.ranks);
    if (std::uint64_t{ranks} * segments > UINT32_MAX)
        throw error(fmt::format("{} segments for each of {} parts", segments, p.ranks), "that is too many to count",
                    "give fewer segments");
    builder b(p, me, ranks * segments);
    const slice all = b.output();
    ring_reduce_scatter(
        b, p.ranks, me, segments, [own = b.input()](block q) { return own.sub(q); },
        [all](block q, std::uint32_t) { return all.sub(q); });
    for (std::int32_t i = 0; i + 1 < p.ranks; ++i) {
        const slice sent = piece(all, {0, p.ranks}, around(me, -i, p.ranks));
        const slice received = piece(all, {0, p.ranks}, around(me, -i - 1, p.ranks));
        for (std::uint32_t s = 0; s < segments; ++s) {
            b.send(around(me, 1, p.ranks), sent.sub(s));
            b.recv(around(me, -1, p.ranks), received.sub(s));
        }
    }
    if (p.ranks == 1) b.copy(b.input(), all);
    return std::move(b).finish();
}

schedule allreduce_together(const problem& p, rank me) {
    const std::uint32_t per_rank = p.segments / static_cast<std::uint32_t>(p.ranks);
    return per_rank > 0 ? ring_allreduce(p, me, per_rank) : halved_and_gathered(p, me, pairing::near_first);
}

}  // namespace rubato::schedules
