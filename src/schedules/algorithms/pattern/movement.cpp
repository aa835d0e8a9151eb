#include "schedules/algorithms/pattern/movement.hpp"

#include <algorithm>

namespace rubato::schedules {
namespace {

/// Chunks that pass through a rank: the whole buffer at the root, the own chunk at a leaf, else scratch.
slice held_chunks(builder& b, const tree& t, slice whole, slice own) {
    if (!t.parent) return whole;
    const interval all = t.covers;
    return all.size() == 1 ? own : b.scratch_chunks(static_cast<std::uint32_t>(all.size()), chunk_of(rank(all.low)));
}
slice chunks_to_scatter(builder& b, const tree& t) {
    return held_chunks(b, t, b.input(0, static_cast<std::uint32_t>(t.covers.size())), b.output());
}
slice chunks_to_gather(builder& b, const tree& t) {
    return held_chunks(b, t, b.output(0, static_cast<std::uint32_t>(t.covers.size())), b.input());
}

/// The messages between a rank and its parent, in the order of a scatter: far blocks first.
class segmented_edge {
public:
    /// `all` has a piece for each rank that `whole` covers, `part` are those below the edge, and `top` is their root.
    segmented_edge(slice all, interval whole, interval part, rank top)
        : data_(pieces(all, whole, part)),
          size_(static_cast<std::uint32_t>(part.size())),
          from_the_end_(top.value == part.low) {}

    std::uint32_t count() const { return data_.count / size_; }
    slice message(std::uint32_t i) const { return data_.sub((from_the_end_ ? count() - 1 - i : i) * size_, size_); }

private:
    slice data_;
    std::uint32_t size_;  // of a message, in blocks
    bool from_the_end_;
};

struct edge_message {
    rank peer;
    bool up;  // to or from the parent
    slice data;
};

/// All messages of a rank in the order of a scatter: those to children follow as soon as what they hold has come, and
/// those of the root are to all children in turn.
std::vector<edge_message> scatter_order(const tree& t, rank me, slice data) {
    std::vector<segmented_edge> down;
    for (std::size_t i = 0; i < t.children.size(); ++i) down.emplace_back(data, t.covers, t.branches[i], t.children[i]);
    std::vector<edge_message> all;
    if (!t.parent) {
        for (std::uint32_t s = 0; !down.empty() && s < down[0].count(); ++s)
            for (std::size_t i = 0; i < down.size(); ++i) all.push_back({t.children[i], false, down[i].message(s)});
        return all;
    }
    const segmented_edge above(data, t.covers, t.covers, me);
    const bool from_the_end = me.value == t.covers.low;
    std::size_t child = 0;
    std::uint32_t passed = 0;  // to that child
    for (std::uint32_t s = 0; s < above.count(); ++s) {
        const slice come = above.message(s);
        all.push_back({*t.parent, true, come});
        for (; child < down.size(); ++child, passed = 0) {
            const auto is_there = [&](slice m) {
                return from_the_end ? m.first >= come.first : m.first + m.count <= come.first + come.count;
            };
            for (; passed < down[child].count() && is_there(down[child].message(passed)); ++passed)
                all.push_back({t.children[child], false, down[child].message(passed)});
            if (passed < down[child].count()) break;
        }
    }
    return all;
}

}  // namespace

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

void scatter_along(builder& b, const tree& t, rank me) {
    const slice data = chunks_to_scatter(b, t);
    scatter_down(b, t, data);
    b.copy(piece(data, t.covers, me), b.output());
}

void gather_along(builder& b, const tree& t, rank me) {
    const slice data = chunks_to_gather(b, t);
    b.copy(b.input(), piece(data, t.covers, me));
    gather_up(b, t, data, std::identity{});
}

void scatter_in_segments(builder& b, const tree& t, rank me) {
    if (b.parts() == 1) return scatter_along(b, t, me);
    const slice data = chunks_to_scatter(b, t);
    for (const auto& [peer, up, part] : scatter_order(t, me, data)) {
        if (up)
            b.recv(peer, part);
        else
            b.send(peer, part);
    }
    b.copy(piece(data, t.covers, me), b.output());
}

void gather_in_segments(builder& b, const tree& t, rank me) {
    const slice data = chunks_to_gather(b, t);
    b.copy(b.input(), piece(data, t.covers, me));
    gather_segments(b, t, me, data);
}

void gather_segments(builder& b, const tree& t, rank me, slice data) {
    const std::vector<edge_message> order = scatter_order(t, me, data);
    for (auto m = order.rbegin(); m != order.rend(); ++m) {
        if (m->up)
            b.send(m->peer, m->data);
        else
            b.recv(m->peer, m->data);
    }
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

}  // namespace rubato::schedules
