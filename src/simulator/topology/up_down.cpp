// Up*/down* routing: never deadlocks, on any graph.
//
// A breadth-first search from a root gives every switch a place. A channel goes up if it leads to an earlier place. A
// route goes up first and down then. A switch from where the destination can be reached by going down alone does so, on
// the shortest such way; the others go up. So a message that has gone down once never needs to go up again, although
// tables know nothing of where it came from. Ways of equal length take turns by destination.
// Source: Schroeder et al. 1991.
#include "simulator/topology/routing.hpp"

#include <algorithm>

namespace rubato::simulator {
namespace {

/// The switches in the order of a breadth-first search from the one that is the farthest from endpoints: in a tree, one
/// at the top.
std::vector<vertex> order_of(const network& net) {
    const std::vector<std::uint32_t> stages = stages_of(net);
    const auto root = static_cast<vertex>(std::ranges::max_element(stages) - stages.begin());
    std::vector<bool> seen(net.vertices(), false);
    std::vector<vertex> order{root};
    seen[root] = true;
    for (std::size_t i = 0; i < order.size(); ++i)
        for (const channel c : net.out(order[i]))
            if (const vertex v = net.head(c); net.is_switch(v) && !seen[v]) {
                seen[v] = true;
                order.push_back(v);
            }
    return order;
}

}  // namespace

std::vector<port> up_down_tables(const network& net) {
    constexpr std::uint32_t far = UINT32_MAX / 2;
    const std::vector<vertex> order = order_of(net);
    std::vector<std::uint32_t> place(net.vertices());
    for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;

    const vertex switches = net.switches();
    std::vector<port> tables(std::size_t{net.endpoints()} * switches, no_port);
    std::vector<std::uint32_t> down(net.vertices());  // hops to the destination by going down alone
    std::vector<std::uint32_t> hops(net.vertices());  // to it in all
    std::vector<port> best;
    for (vertex to = 0; to < net.endpoints(); ++to) {
        const vertex last = net.switch_of(to);
        port* const row = tables.data() + std::size_t{to} * switches;
        // What `reach` says of the switches where it leads decides which of a switch's channels is taken.
        const auto take_shortest = [&](vertex v, bool downwards, const std::vector<std::uint32_t>& reach) {
            std::uint32_t shortest = far;
            best.clear();
            const std::span<const channel> out = net.out(v);
            for (port p = 0; p < static_cast<port>(out.size()); ++p) {
                const vertex w = net.head(out[p]);
                if (!net.is_switch(w) || (place[w] > place[v]) != downwards || reach[w] >= far) continue;
                if (reach[w] + 1 < shortest) best.clear();
                if (reach[w] + 1 <= shortest) best.push_back(p);
                shortest = std::min(shortest, reach[w] + 1);
            }
            if (!best.empty()) row[v - net.endpoints()] = best[to % best.size()];
            return shortest;
        };
        for (auto v = order.rbegin(); v != order.rend(); ++v) down[*v] = *v == last ? 0 : take_shortest(*v, true, down);
        for (const vertex v : order) hops[v] = down[v] < far ? down[v] : take_shortest(v, false, hops);
        row[last - net.endpoints()] = net.port_to(last, to);
    }
    return tables;
}

}  // namespace rubato::simulator
