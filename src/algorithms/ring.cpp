#include "ring.hpp"

#include <fmt/format.h>

namespace rubato {
namespace {

struct ring {
    std::uint32_t ranks;
    std::uint32_t me;

    rank next() const { return rank(static_cast<std::int32_t>((me + 1) % ranks)); }
    rank previous() const { return rank(static_cast<std::int32_t>((me + ranks - 1) % ranks)); }
    /// The part of the rank `steps` (at most 2 * ranks) before this one.
    std::uint32_t part_before(std::uint32_t steps) const { return (me + 2 * ranks - steps) % ranks; }

    ring(std::int32_t ranks_, rank me_)
        : ranks(static_cast<std::uint32_t>(ranks_)), me(static_cast<std::uint32_t>(me_.value)) {}
};

}  // namespace

void ring_reduce_scatter(builder& b, std::int32_t ranks, rank me, std::uint32_t segments, slice input,
                         const std::function<slice(block, std::uint32_t)>& place) {
    const ring r(ranks, me);
    const auto sent = [&](std::uint32_t i) -> block {
        return r.part_before(1 + i / segments) * segments + i % segments;
    };
    const auto received = [&](std::uint32_t i) -> block {
        return r.part_before(2 + i / segments) * segments + i % segments;
    };
    const std::uint32_t turns = (r.ranks - 1) * segments;
    // What is sent next was combined `segments` turns ago, so with several the combination can wait for a turn.
    const std::uint32_t lag = segments > 1 ? 1 : 0;
    for (std::uint32_t i = 0; i < turns + lag; ++i) {
        if (i < turns) {
            b.send(r.next(), i < segments ? input.sub(sent(i)) : place(sent(i), i - segments));
            b.recv(r.previous(), place(received(i), i));
        }
        if (i >= lag && i - lag < turns) b.combine(input.sub(received(i - lag)), place(received(i - lag), i - lag));
    }
}

schedule ring_allreduce(const problem& p, rank me, std::uint32_t segments) {
    const ring r(p.ranks, me);
    if (std::uint64_t{r.ranks} * segments > UINT32_MAX)
        throw error(fmt::format("{} segments for each of {} parts", segments, p.ranks), "that is too many to count",
                    "give fewer segments");
    builder b(p, me, r.ranks * segments);
    ring_reduce_scatter(b, p.ranks, me, segments, b.input(),
                        [&b](block q, std::uint32_t) { return b.output().sub(q); });
    for (std::uint32_t t = 0; t + 1 < r.ranks; ++t) {
        for (std::uint32_t s = 0; s < segments; ++s) {
            b.send(r.next(), b.output().sub(r.part_before(t) * segments + s));
            b.recv(r.previous(), b.output().sub(r.part_before(t + 1) * segments + s));
        }
    }
    if (r.ranks == 1) b.copy(b.input(), b.output());
    return std::move(b).finish();
}

}  // namespace rubato
