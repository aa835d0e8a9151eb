#include "algorithms/pattern/neighbours.hpp"

#include "algorithms/pattern/arrival_order.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace rubato {
namespace {

struct edge {
    std::int32_t from;
    std::int32_t to;
    std::uint32_t input;   // chunk of the sender
    std::uint32_t output;  // chunk of the receiver
};

/// All edges from this rank and to it.
std::vector<edge> edges_of(const problem& p, rank me) {
    std::vector<edge> mine;
    const auto out = p.neighbours->destinations(me);
    for (std::uint32_t i = 0; i < out.size(); ++i)
        if (out[i].exists()) mine.push_back({me.value, out[i].rank, i, static_cast<std::uint32_t>(out[i].chunk)});
    const auto in = p.neighbours->sources(me);
    for (std::uint32_t i = 0; i < in.size(); ++i)
        if (in[i].exists() && in[i].rank != me.value)
            mine.push_back({in[i].rank, me.value, static_cast<std::uint32_t>(in[i].chunk), i});
    return mine;
}

/// In one order for all ranks.
std::vector<edge> sorted_edges(const problem& p, rank me, bool by_arrival) {
    std::vector<edge> edges = edges_of(p, me);
    std::ranges::sort(edges, {}, [&](const edge& e) {
        const time_ns there = by_arrival ? std::max(arrival(p, rank(e.from)), arrival(p, rank(e.to))) : time_ns{};
        const std::int32_t distance = (e.to - e.from + p.ranks) % p.ranks;
        return std::tuple(there, distance, e.from, e.input);
    });
    return edges;
}

/// Whether all ranks have the same neighbours in a torus of these sizes, given those of rank 0.
bool is_same_everywhere(const graph& g, const torus_view& t) {
    for (rank r; r.value < g.ranks(); ++r.value) {
        const auto to = g.destinations(r);
        if (to.size() != t.offsets.size() || g.sources(r).size() != t.offsets.size()) return false;
        for (std::size_t i = 0; i < to.size(); ++i) {
            rank there = r;
            for (std::size_t d = 0; d < t.sizes.size(); ++d) there = t.shifted(there, d, t.offsets[i][d]);
            if (to[i].rank != there.value || static_cast<std::uint32_t>(to[i].chunk) != t.targets[i]) return false;
        }
    }
    return true;
}

/// Calls use(sizes) with every torus of so many ranks, of up to three dimensions of two ranks or more.
template <class Use>
void for_each_torus(std::int32_t ranks, std::vector<std::int32_t>& sizes, const Use& use) {
    if (ranks > 1) {
        sizes.push_back(ranks);
        use(sizes);
        sizes.pop_back();
    }
    if (sizes.size() == 2) return;
    for (std::int32_t first = 2; first <= ranks / 2; ++first) {
        if (ranks % first != 0) continue;
        sizes.push_back(first);
        for_each_torus(ranks / first, sizes, use);
        sizes.pop_back();
    }
}

}  // namespace

schedule along_edges(const problem& p, rank me, bool by_arrival) {
    const std::vector<edge> edges = sorted_edges(p, me, by_arrival);
    builder b(p, me, 1);
    const bool wide = traits(p.what).wide_input;
    for (const edge& e : edges) {
        const slice given = b.input(wide ? e.input : 0);
        if (e.from != me.value)
            b.recv(rank(e.from), b.output(e.output));
        else if (e.to != me.value)
            b.send(rank(e.to), given);
        else
            b.copy(given, b.output(e.output));
    }
    return std::move(b).finish();
}

schedule reduced_along_edges(const problem& p, rank me, bool by_arrival) {
    std::vector<edge> edges = sorted_edges(p, me, by_arrival);
    const auto ends = [](const edge& e) { return std::pair(e.from, e.to); };
    const auto repeated =
        std::ranges::unique(edges, {}, ends);  // of one pair of ranks, they are neighbours in the order
    edges.erase(repeated.begin(), repeated.end());
    std::vector<std::int32_t> sources;  // in the order in which they are combined
    for (const edge& e : edges)
        if (e.to == me.value) sources.push_back(e.from);
    if (!by_arrival) std::ranges::sort(sources, std::greater{});
    builder b(p, me, 1);
    std::map<std::int32_t, slice> operands;
    const auto combine = [&](std::int32_t source) {
        if (source == sources.front())
            b.copy(operands[source], b.output());
        else
            b.combine(operands[source], b.output());
    };
    for (const edge& e : edges) {
        if (e.to != me.value) {
            b.send(rank(e.to), b.input());
            continue;
        }
        slice& operand = operands[e.from];
        if (e.from == me.value)
            operand = b.input();
        else
            b.recv(rank(e.from), operand = e.from == sources.front() ? b.output() : b.scratch_chunks());
        if (by_arrival) combine(e.from);
    }
    if (!by_arrival) std::ranges::for_each(sources, combine);
    return std::move(b).finish();
}

rank torus_view::shifted(rank from, std::size_t dimension, std::int32_t by) const {
    std::int32_t stride = 1;
    for (std::size_t d = sizes.size(); --d > dimension;) stride *= sizes[d];
    const std::int32_t size = sizes[dimension];
    const std::int32_t at = from.value / stride % size;
    return rank(from.value + ((at + by % size + size) % size - at) * stride);
}

std::size_t torus_view::directions() const {
    std::set<std::pair<std::size_t, std::int32_t>> all;
    for (const auto& o : offsets)
        for (std::size_t d = 0; d < o.size(); ++d)
            if (o[d] != 0) all.emplace(d, o[d]);
    return all.size();
}

std::optional<torus_view> torus_of(const graph& g) {
    const auto first = g.destinations(rank(0));
    if (!std::ranges::all_of(first, &neighbour::exists)) return std::nullopt;
    std::optional<torus_view> best;
    const auto consider = [&](const std::vector<std::int32_t>& sizes) {
        torus_view t{sizes, {}, {}};
        for (const neighbour& n : first) {
            std::vector<std::int32_t> offset(sizes.size());
            for (std::int32_t d = static_cast<std::int32_t>(sizes.size()), r = n.rank; d-- > 0;) {
                const auto i = static_cast<std::size_t>(d);
                offset[i] = r % sizes[i];
                r /= sizes[i];
            }
            t.offsets.push_back(std::move(offset));
            t.targets.push_back(static_cast<std::uint32_t>(n.chunk));
        }
        if ((!best || t.directions() < best->directions()) && is_same_everywhere(g, t)) best = std::move(t);
    };
    std::vector<std::int32_t> sizes;
    if (g.ranks() == 1)
        consider({1});
    else
        for_each_torus(g.ranks(), sizes, consider);
    return best;
}

}  // namespace rubato
