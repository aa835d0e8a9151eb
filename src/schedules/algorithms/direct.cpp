// Every message goes straight from the rank that has the data to one that needs it.
#include "schedules/algorithms/builders.hpp"
#include "schedules/algorithms/pattern/arrival_order.hpp"
#include "schedules/algorithms/pattern/movement.hpp"
#include "schedules/algorithms/pattern/tree.hpp"

#include <algorithm>

namespace rubato::schedules {
namespace {

schedule join_in_turn(const problem& p, rank me, const std::vector<rank>& line, const std::vector<joining>& groups) {
    builder b(p, me, 1);
    const auto mine = static_cast<std::size_t>(std::ranges::find(line, me) - line.begin());
    constexpr std::size_t under_way = 4;
    std::vector<builder::step_id> received;
    for (const auto [old, end] : groups) {
        if (mine >= end) continue;
        for (std::size_t distance = 1; distance < end; ++distance) {
            const std::size_t to = (mine + distance) % end;
            const std::size_t from = (mine + end - distance) % end;
            if (mine >= old || to >= old) {
                if (received.size() >= under_way)
                    b.send(line[to], b.input(chunk_of(line[to])), {received[received.size() - under_way]});
                else
                    b.send(line[to], b.input(chunk_of(line[to])));
            }
            if (mine >= old || from >= old) received.push_back(b.recv(line[from], b.output(chunk_of(line[from]))));
        }
    }
    b.copy(b.input(chunk_of(me)), b.output(chunk_of(me)));
    return std::move(b).finish();
}

}  // namespace

/// Flat tree. The root sends the data to every other rank, one after the other.
/// Cost: L + P o + (P - 1) s G; the root sends P - 1 messages.
/// Rank counts: any.
/// Source: Hoefler & Moor 2014, 3.1.1.
schedule bcast_linear(const problem& p, rank me) {
    builder b(p, me, 1);
    if (me != p.root) b.recv(p.root, b.output());
    for (rank r; me == p.root && r.value < p.ranks; ++r.value)
        if (r != me) b.send(r, b.input());
    return std::move(b).finish();
}

/// Linear gather. Every rank sends its chunk to the root, which takes them in the order of ranks.
/// Cost: (P - 1)(alpha + m beta), m = one chunk. Nothing is sent twice, but the root receives it all.
/// Rank counts: any.
/// Source: Proficz 2020, 2.1.
schedule gather_linear(const problem& p, rank me) {
    builder b(p, me, 1);
    if (me != p.root) {
        b.send(p.root, b.input());
    } else {
        for (rank r; r.value < p.ranks; ++r.value)
            if (r != me) b.recv(r, b.output(chunk_of(r)));
        b.copy(b.input(), b.output(chunk_of(me)));
    }
    return std::move(b).finish();
}

/// Direct sends. Every rank sends its vector to every other one, all at once, and combines all of them in the order of
/// ranks, so that all get the same result to the last bit.
/// Cost: L + (P - 1)(o + m G) + (P - 1) m gamma; needs scratch for P - 1 vectors, or P.
/// Rank counts: any; the order of operands is kept.
/// Source: Hoefler & Moor 2014, 3.1.6.
schedule allreduce_direct(const problem& p, rank me) {
    builder b(p, me, 1);
    std::vector<slice> vectors(static_cast<std::size_t>(p.ranks), b.input());
    for (std::int32_t i = 1; i < p.ranks; ++i) {
        const rank from = around(me, -i, p.ranks);
        b.send(around(me, i, p.ranks), b.input());
        b.recv(from, vectors[chunk_of(from)] = b.scratch_chunks());
    }
    slice sum = vectors.back();
    if (p.ranks > 1 && sum.where == buffer::input) b.copy(b.input(), sum = b.scratch_chunks());
    for (auto left = vectors.rbegin() + 1; left != vectors.rend(); ++left) b.combine(*left, sum);
    b.fence();  // in place, the vector that is sent is in the memory of the result
    b.copy(sum, b.output());
    return std::move(b).finish();
}

/// Direct sends. Every rank sends each other one its chunk, all at once, beginning with the following rank, so that not
/// all send to the same one.
/// Cost: L + (P - 1)(o + m G), m = one chunk.
/// Rank counts: any.
/// Source: Hoefler & Moor 2014, 3.1.6.
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

/// Pairwise exchange. In step i every rank exchanges chunks with one other, or sends to the rank i places on and
/// receives from the one i places before; the next step waits for that. So each rank has one message in and one out at
/// any time.
/// Cost: (P - 1)(alpha + m beta), m = one chunk.
/// Rank counts: any; partners differ by XOR with i for powers of two.
/// Source: Thakur, Rabenseifner & Gropp 2005.
schedule alltoall_pairwise(const problem& p, rank me) {
    builder b(p, me, 1);
    for (std::int32_t i = 1; i < p.ranks; ++i) {
        const bool pairs = is_power_of_two(p.ranks);
        const rank to = pairs ? rank(me.value ^ i) : around(me, i, p.ranks);
        const rank from = pairs ? to : around(me, -i, p.ranks);
        b.fence();
        b.send(to, b.input(chunk_of(to)));
        b.recv(from, b.output(chunk_of(from)));
    }
    b.copy(b.input(chunk_of(me)), b.output(chunk_of(me)));
    return std::move(b).finish();
}

/// Sorted pairwise exchange. Ranks are lined up by arrival, and ranks that arrive together join as a group. The group
/// exchanges chunks within itself and with all earlier ranks, as in the pairwise exchange; the earlier ranks have
/// already exchanged all other chunks.
///
/// A rank has a few exchanges under way, so that a link is not idle while one ends and the next begins, but no more: so
/// chunks do not pile up anywhere, and few share a link.
/// Cost: (P - 1)(alpha + m beta), m = one chunk, if all have arrived; as long after the last arrival. That is the
/// bound: all that the last rank has to send passes its link then. The pairwise exchange reaches it, too, but there no
/// rank leaves earlier. Without predicted arrivals it is the pairwise exchange, by distance.
///
/// Rank counts: any. Source: ours, after Thakur, Rabenseifner & Gropp 2005.
std::vector<schedule> alltoall_sorted_pairwise(const problem& p, std::span<const rank> who) {
    const std::vector<rank> line = line_up(p);
    const auto rounds = [](std::size_t n) { return static_cast<std::int64_t>(n - 1); };
    const std::vector<joining> groups = joining_groups(p, line, rounds);
    return build_each(who, [&](rank me) { return join_in_turn(p, me, line, groups); });
}

}  // namespace rubato::schedules
