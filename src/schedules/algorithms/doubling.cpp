// In about log2 P rounds: in each, partners are twice as far away, or half.
#include "rubato/builder.hpp"
#include "schedules/algorithms/builders.hpp"
#include "schedules/algorithms/pattern/butterfly.hpp"
#include "schedules/algorithms/pattern/movement.hpp"
#include "schedules/algorithms/pattern/partial.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace rubato::schedules {

/// Recursive doubling. In the round of distance w, ranks that differ in that bit exchange the w chunks they have.
/// Cost: log2 P alpha + (P - 1) m beta, m = one chunk.
/// Rank counts: powers of two.
/// Source: Thakur, Rabenseifner & Gropp 2005; Hoefler & Moor 2014, 3.1.7.
schedule allgather_recursive_doubling(const problem& p, rank me) {
    builder b(p, me, 1);
    const std::uint32_t own = chunk_of(me);
    const auto ranks = static_cast<std::uint32_t>(p.ranks);
    const auto exchange = [&](std::uint32_t w, slice have) {
        const rank peer(static_cast<std::int32_t>(own ^ w));
        b.send(peer, have);
        b.recv(peer, b.output((own ^ w) & ~(w - 1), w));
    };
    if (ranks > 1) exchange(1, b.input());  // from the input, so as not to wait for the copy
    b.copy(b.input(), b.output(own));
    for (std::uint32_t w = 2; w < ranks; w *= 2) exchange(w, b.output(own & ~(w - 1), w));
    return std::move(b).finish();
}

/// Bine butterfly: recursive doubling with Bine's partners, the farthest first, when there is one chunk to send, and
/// the nearest last. Ranks that have the same chunks would not have neighbouring ones, so each first hands its chunk to
/// the rank that has it in the order of positions (halving::position). Cost: (n + 1) alpha + P m beta, n = log2 P, m =
/// one chunk. Rank counts: powers of two. Source: De Sensi et al. 2025.
schedule allgather_bine(const problem& p, rank me) {
    const folding fold(p.ranks);
    const halving parts{p, fold, me, pairing::bine};
    builder b(p, me, 1);
    const std::uint32_t position = parts.position(me);
    const rank holder = parts.rank_at(chunk_of(me));
    b.copy(b.input(), b.output(chunk_of(me)));
    if (holder != me) {
        b.send(holder, b.output(chunk_of(me)));  // not from the input, which may lie there and be written again
        b.recv(rank(static_cast<std::int32_t>(position)), b.output(position));
    }
    parts.allgather(b, b.output(0, fold.size));
    return std::move(b).finish();
}

/// Bruck's allgather. In the round of distance w, each rank has w chunks, its own and those that follow around the
/// ring; it sends them to the rank w places before and gets the next w from the rank w places on. Cost: n alpha + (P -
/// 1) m beta, n = ceil(log2 P), m = one chunk. Rank counts: any; the last round moves what is left. What is sent must
/// be consecutive, so the first half is gathered in scratch where it goes around the end of the output, and so is the
/// last message; the rest is received in its place. Source: Bruck et al. 1997.
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

/// Bruck's alltoall. The chunk for the rank d places before has distance d, and travels once for every bit of d: in the
/// round of distance w, each rank sends all chunks with that bit in their distance to the rank w places before. On its
/// way a chunk lies in the output chunk d places on, where it belongs when it has arrived.
/// Cost: n alpha + n P/2 m beta, n = ceil(log2 P), m = one chunk, and twice that in copies. For small chunks.
/// Rank counts: any.
/// Source: Bruck et al. 1997; without its rotations, as Traff et al. 2014.
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

/// Recursive doubling. In round j every rank passes on the combination of the last 2^j ranks up to itself to the rank
/// 2^j after it, and puts what it gets in front of its own.
/// Cost: n (alpha + m beta + m gamma), n = ceil(log2 P).
/// Rank counts: any; the order of operands is kept.
/// Source: Hillis, Steele 1986.
schedule scan_recursive_doubling(const problem& p, rank me) {
    builder b(p, me, 1);
    // Where the order does not matter, the sum moves: then it need not wait until the one before is sent.
    const int operands = ceil_log2(std::int64_t{me.value} + 1);
    partial sum = partial_vector(b, false, p.commutative && operands > 0 ? operands - 1 : 0);
    for (std::int64_t distance = 1; distance < p.ranks; distance *= 2) {
        const auto d = static_cast<std::int32_t>(distance);
        if (me.value < p.ranks - d) b.send(rank(me.value + d), sum.value());
        if (me.value >= d) sum.absorb(rank(me.value - d), p.commutative);
    }
    b.copy(sum.value(), b.output());
    return std::move(b).finish();
}

/// Recursive doubling. In round j every rank passes on the combination of the last 2^j ranks up to itself to the rank
/// 2^j after it. What it gets it puts in front of that, and in front of its result, which is the same without itself.
/// Cost: n (alpha + m beta + 2 m gamma), n = ceil(log2 P).
/// Rank counts: any; the order of operands is kept.
/// Source: Hillis, Steele 1986.
schedule exscan_recursive_doubling(const problem& p, rank me) {
    builder b(p, me, 1);
    slice passed_on = b.input();
    std::optional<slice> operand;
    for (std::int64_t distance = 1; distance < p.ranks; distance *= 2) {
        const auto d = static_cast<std::int32_t>(distance);
        if (me.value < p.ranks - d) b.send(rank(me.value + d), passed_on);
        if (me.value < d) continue;
        if (d > 1 && !operand) operand = b.scratch_chunks();
        const slice received = operand.value_or(b.output());
        b.recv(rank(me.value - d), received);
        if (me.value + 2 * distance < p.ranks) {  // there is a next round for it
            if (passed_on.where == buffer::input) {
                const slice own = b.scratch_chunks();
                b.copy(passed_on, own);
                passed_on = own;
            }
            b.combine(received, passed_on);
        }
        if (d > 1) b.combine(received, b.output());
    }
    return std::move(b).finish();
}

}  // namespace rubato::schedules
