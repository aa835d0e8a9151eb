#include "algorithms/pattern/movement.hpp"

#include <algorithm>

namespace rubato {

slice pieces(slice data, interval whole, interval part) {
    const std::uint32_t size = data.count / static_cast<std::uint32_t>(whole.size());
    return data.sub(static_cast<std::uint32_t>(part.low - whole.low) * size,
                    static_cast<std::uint32_t>(part.size()) * size);
}

std::vector<interval> ring_runs(rank first, std::int32_t n, std::int32_t ranks) {
    const std::int32_t before_wrap = std::min(n, ranks - first.value);
    std::vector<interval> runs;
    if (before_wrap > 0) runs.push_back({first.value, first.value + before_wrap});
    if (before_wrap < n) runs.push_back({0, n - before_wrap});
    return runs;
}

std::vector<slice> ring_slices(slice all, rank first, std::int32_t n, std::int32_t ranks) {
    std::vector<slice> slices;
    for (const interval run : ring_runs(first, n, ranks)) slices.push_back(pieces(all, {0, ranks}, run));
    return slices;
}

void unpack(builder& b, slice line, const std::vector<slice>& places) {
    std::uint32_t done = 0;
    for (const slice& to : places) {
        b.copy(line.sub(done, to.count), to);
        done += to.count;
    }
}

void scatter_down(builder& b, const tree& t, slice data) {
    if (t.parent) b.recv(*t.parent, data);
    sends_in_turn in_turn(b);
    for (std::size_t i = 0; i < t.children.size(); ++i)
        in_turn.send(t.children[i], pieces(data, t.covers, t.branches[i]));
}

slice gather_room(builder& b, const tree& t) {
    if (!t.parent) return b.output();
    return b.scratch(static_cast<block>(t.covers.low), static_cast<std::uint32_t>(t.covers.size()));
}

void gather_up(builder& b, const tree& t, slice data, const std::function<rank(rank)>& rank_at) {
    // The smaller a subtree, the sooner it is done.
    for (std::size_t i = t.children.size(); i-- > 0;)
        b.recv(rank_at(t.children[i]), pieces(data, t.covers, t.branches[i]));
    if (t.parent) b.send(rank_at(*t.parent), data);
}

void pass_around(builder& b, rank me, std::int32_t ranks, slice own, slice all, interval mine, interval theirs) {
    const rank next = around(me, 1, ranks);
    const rank previous = around(me, -1, ranks);
    rank outgoing = me;
    for (std::int32_t i = 1; i < ranks; ++i) {
        const rank incoming = around(me, -i, ranks);
        if (!theirs.has(outgoing.value)) b.send(next, outgoing == me ? own : piece(all, {0, ranks}, outgoing));
        if (!mine.has(incoming.value)) b.recv(previous, piece(all, {0, ranks}, incoming));
        outgoing = incoming;
    }
}

void disseminate(builder& b, rank me, std::int32_t ranks, std::int32_t ways) {
    for (std::int64_t known = 1; known < ranks; known *= std::int64_t{ways} + 1) {
        // A distance of `ranks` or more would tell a rank what it knows.
        const std::int64_t peers = std::min<std::int64_t>(ways, (ranks - 1) / known);
        for (std::int64_t i = 1; i <= peers; ++i) {
            b.send(around(me, i * known, ranks), builder::presence());
            b.recv(around(me, -i * known, ranks), builder::nothing());
        }
        b.fence();
    }
}

}  // namespace rubato
