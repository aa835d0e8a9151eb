// Balanced shortest paths: for one destination after the other, the tree of shortest ways to it, by Dijkstra with a
// weight on each channel that grows by one with each route over it. Weights are small against a hop, so they decide
// only between ways of the same length; then the ways of a hop fewer are known before, and no queue is needed.
// Source: Hoefler 2008, II.5.2.
#include "simulator/topology/routing.hpp"

#include <algorithm>

namespace rubato::simulator {
namespace {

/// The switches by their distance to one of them, and the channels over which a shortest way may go.
struct layers {
    struct hop {
        channel out;
        vertex head;
        port number;
    };
    std::vector<vertex> order{};  ///< the nearest first
    std::vector<std::uint32_t> first{};
    std::vector<hop> ways{};

    layers(const network& net, vertex to) {
        const std::vector<std::uint32_t> hops = hops_to(net, to);
        for (vertex v = net.endpoints(); v < net.vertices(); ++v)
            if (v != to) order.push_back(v);
        std::ranges::stable_sort(order, {}, [&](vertex v) { return hops[v]; });
        for (const vertex v : order) {
            first.push_back(static_cast<std::uint32_t>(ways.size()));
            const std::span<const channel> out = net.out(v);
            for (port p = 0; p < static_cast<port>(out.size()); ++p)
                if (const vertex w = net.head(out[p]); net.is_switch(w) && hops[w] + 1 == hops[v])
                    ways.push_back({out[p], w, p});
        }
        first.push_back(static_cast<std::uint32_t>(ways.size()));
    }
};

}  // namespace

std::vector<port> balanced_tables(const network& net) {
    const vertex switches = net.switches();
    std::vector<port> tables(std::size_t{net.endpoints()} * switches, no_port);
    std::vector<std::uint64_t> weight(net.channels(), 0);
    std::vector<std::uint64_t> distance(net.vertices(), 0);
    const std::vector<std::uint32_t> attached = endpoints_at(net);
    std::vector<std::uint32_t> routes_through(net.vertices());
    std::optional<layers> known;
    for (vertex to = 0; to < net.endpoints(); ++to) {
        const vertex last = net.switch_of(to);
        if (to == 0 || last != net.switch_of(to - 1)) known.emplace(net, last);
        port* const row = tables.data() + std::size_t{to} * switches;
        row[last - net.endpoints()] = net.port_to(last, to);
        distance[last] = 0;
        std::vector<const layers::hop*> taken(known->order.size());
        for (std::size_t i = 0; i < known->order.size(); ++i) {
            const vertex v = known->order[i];
            const layers::hop* best = &known->ways[known->first[i]];
            for (const layers::hop* w = best + 1; w != known->ways.data() + known->first[i + 1]; ++w)
                if (distance[w->head] + weight[w->out] < distance[best->head] + weight[best->out]) best = w;
            distance[v] = distance[best->head] + weight[best->out];
            row[v - net.endpoints()] = best->number;
            taken[i] = best;
        }
        std::ranges::copy(attached, routes_through.begin());
        for (std::size_t i = known->order.size(); i-- > 0;) {
            const std::uint32_t through = routes_through[known->order[i]];
            weight[taken[i]->out] += through;
            routes_through[taken[i]->head] += through;
        }
    }
    return tables;
}

}  // namespace rubato::simulator
