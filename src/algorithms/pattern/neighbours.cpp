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

/// In one order for all ranks, in which few send to one rank at once: on a grid one direction after the other, so that
/// nobody does; else by distance.
void put_in_order(std::vector<edge>& edges, const problem& p, bool by_arrival) {
    const bool by_direction = !p.neighbours->sizes().empty();
    std::ranges::sort(edges, {}, [&](const edge& e) {
        const time_ns there = by_arrival ? std::max(arrival(p, rank(e.from)), arrival(p, rank(e.to))) : time_ns{};
        const std::int32_t distance = (e.to - e.from + p.ranks) % p.ranks;
        return std::tuple(there, by_direction ? e.input : 0, distance, e.from, e.input);
    });
}

}  // namespace

schedule along_edges(const problem& p, rank me, bool by_arrival) {
    std::vector<edge> edges = edges_of(p, me);
    put_in_order(edges, p, by_arrival);
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
    std::vector<edge> edges = edges_of(p, me);
    std::ranges::sort(edges, {}, [](const edge& e) { return std::tuple(e.from, e.to, e.input); });
    const auto repeated = std::ranges::unique(edges, {}, [](const edge& e) { return std::pair(e.from, e.to); });
    edges.erase(repeated.begin(), repeated.end());
    put_in_order(edges, p, by_arrival);
    // In the order in which they are combined. It does not depend on this rank: all that have the same sources get the
    // same bits.
    std::vector<std::int32_t> sources;
    for (const edge& e : edges)
        if (e.to == me.value) sources.push_back(e.from);
    std::ranges::sort(sources, std::greater{});
    if (by_arrival) std::ranges::stable_sort(sources, {}, [&](std::int32_t s) { return arrival(p, rank(s)); });
    builder b(p, me, 1);
    std::map<std::int32_t, slice> operands;
    std::size_t combined = 0;
    const auto combine_what_is_there = [&] {
        for (; combined < sources.size() && operands.contains(sources[combined]); ++combined) {
            const slice operand = operands[sources[combined]];
            if (combined == 0)
                b.copy(operand, b.output());
            else
                b.combine(operand, b.output());
        }
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
        if (by_arrival) combine_what_is_there();
    }
    combine_what_is_there();
    return std::move(b).finish();
}

}  // namespace rubato
