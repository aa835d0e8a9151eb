// By way of rank 0: up a tree to it, and down again.
#include "schedules/algorithms/builders.hpp"
#include "schedules/algorithms/pattern/movement.hpp"

#include <array>

namespace rubato::schedules {

/// Linear allgather. Every rank sends its chunk to rank 0, which sends all of them to everybody.
/// Cost: (P - 1)(2 alpha + (P + 1) m beta), m = one chunk, at rank 0; only 2 (P - 1) messages in all, so where
/// processors are the limit it is the quickest for small chunks. Rank counts: any. Source: Hoefler & Moor 2014, 3.1.1
/// (flat tree).
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

/// Linear gather to rank 0, then a binomial broadcast of all chunks.
/// Cost: (P - 1)(alpha + m beta) + n (alpha + P m beta), m = one chunk, n = ceil(log2 P); 2 (P - 1) messages in all, as
/// `linear`, but rank 0 does not send them all itself.
/// Rank counts: any.
/// Source: Hoefler & Moor 2014, 3.1.1 and 3.1.3.
schedule allgather_gather_bcast(const problem& p, rank me) {
    builder b(p, me, 1);
    const tree t = knomial_tree(p.ranks, rank(0), me, 2);
    const slice all = b.output(0, static_cast<std::uint32_t>(p.ranks));
    if (t.parent) {
        const auto sent = b.send(rank(0), b.input());
        b.recv(*t.parent, all, {sent});  // in place, the chunk to send is in that memory
    } else {
        for (std::int32_t r = 1; r < p.ranks; ++r) b.recv(rank(r), b.output(chunk_of(rank(r))));
        b.copy(b.input(), b.output(chunk_of(me)));
    }
    sends_in_turn in_turn(b);
    for (const rank child : t.children) in_turn.send(child, all);
    return std::move(b).finish();
}

/// Gather up the k-ary tree of rank 0, then a broadcast of all chunks down the same tree, both in segments. No rank
/// sends more than k + 1 messages for a segment, however many ranks there are.
/// Cost: about 2 h L + 2 (k + 1)(h + N - 1) o + (1 + k) P m G, m = one chunk, h = depth of the tree, N = segments, k =
/// radix, or 2.
/// Rank counts: any.
/// Source: Hoefler & Moor 2014, 3.1.2, 3.1.4 and Table 2.
schedule allgather_binary(const problem& p, rank me) {
    builder b(p, me, p.segments);
    const tree t = kary_tree(p.ranks, rank(0), me, p.radix_or(2));
    const auto chunks = static_cast<std::uint32_t>(p.ranks);
    const slice all = b.output(0, chunks);
    b.copy(b.input(), b.output(chunk_of(me)));
    gather_segments(b, t, me, pieces(all, {0, p.ranks}, t.covers));
    for (std::uint32_t s = 0; s < b.parts(); ++s) {
        const slice part = all.sub(s * chunks, chunks);
        if (t.parent) b.recv(*t.parent, part);
        for (const rank child : t.children) b.send(child, part);
    }
    return std::move(b).finish();
}

/// Linear reduce-scatter. Every rank sends its vector to rank 0, which combines them and sends everybody its chunk.
/// Cost: (P - 1)(2 alpha + (P + 1) m beta + P m gamma), m = one chunk, at rank 0; only 2 (P - 1) messages in all, so
/// where processors are the limit it is the quickest for small chunks. Rank counts: any. Source: Hoefler & Moor
/// 2014, 3.1.1 (flat tree).
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

/// Binomial reduce to rank 0, which sends everybody its chunk.
/// Cost: n (alpha + P m (beta + gamma)) + (P - 1)(alpha + m beta), m = one chunk, n = ceil(log2 P); 2 (P - 1) messages
/// in all, as `linear`, but rank 0 does not receive them all itself. Rank counts: any; the order of operands is kept.
/// Source: Thakur, Rabenseifner, Gropp 2005, 4.3 (the classic way, of which recursive halving is the better for long
/// vectors).
schedule reduce_scatter_block_binomial(const problem& p, rank me) {
    builder b(p, me, 1);
    const auto ranks = static_cast<std::uint32_t>(p.ranks);
    const tree t = knomial_tree(p.ranks, rank(0), me, 2);
    slice sum = b.input(0, ranks);
    std::array<slice, 2> rooms{};
    // A child's ranks are all above those before it.
    for (std::size_t i = t.children.size(); i-- > 0;) {
        slice& received = rooms[i % 2];
        if (received.count == 0) received = b.scratch_chunks(ranks);
        b.recv(t.children[i], received);
        b.combine(sum, received);
        sum = received;
    }
    if (t.parent) {
        b.send(*t.parent, sum);
        b.recv(rank(0), b.output());
        return std::move(b).finish();
    }
    for (std::int32_t r = 1; r < p.ranks; ++r) b.send(rank(r), sum.sub(chunk_of(rank(r))));
    b.copy(sum.sub(0), b.output());
    return std::move(b).finish();
}

}  // namespace rubato::schedules
