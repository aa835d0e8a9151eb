// Up-link by destination modulo: at each switch, of the channels that begin a shortest way to the destination, the one
// whose number is the destination's, modulo how many there are.
//
// Channels are counted by the switch where they lead, then by cable. Further up, the number is divided first by how
// many ways the switches below had, as these have used it up. Where several cables lead down to one switch, it is
// divided by how many ways up that switch has beside each: the first half of a leaf's endpoints has the first of two
// cables. This is the routing of Hoefler 2008, Figure II.18.
#include "simulator/topology/routing.hpp"

#include <algorithm>

namespace rubato::simulator {
std::vector<port> modulo_tables(const network& net) {
    const std::vector<std::uint32_t> stage = stages_of(net);
    const std::uint32_t top = *std::ranges::max_element(stage);
    std::vector<std::uint64_t> ways_up(top + 1, 1);  // of a switch, the most in each stage
    for (vertex v = net.endpoints(); v < net.vertices(); ++v) {
        const auto up = std::ranges::count_if(net.out(v), [&](channel c) { return stage[net.head(c)] > stage[v]; });
        ways_up[stage[v]] = std::max(ways_up[stage[v]], static_cast<std::uint64_t>(up));
    }
    std::vector<std::uint64_t> below(top + 1, 1);  // the product of the stages below
    for (std::uint32_t s = 1; s <= top; ++s)
        below[s] = s == 1 ? 1 : std::min<std::uint64_t>(below[s - 1] * ways_up[s - 1], UINT32_MAX);

    const vertex switches = net.switches();
    std::vector<port> tables(std::size_t{net.endpoints()} * switches, no_port);
    std::vector<std::uint32_t> hops;
    std::vector<port> shortest;
    for (vertex to = 0; to < net.endpoints(); ++to) {
        const vertex last = net.switch_of(to);
        if (to == 0 || last != net.switch_of(to - 1)) hops = hops_to(net, last);
        port* const row = tables.data() + std::size_t{to} * switches;
        for (vertex v = net.endpoints(); v < net.vertices(); ++v) {
            const std::span<const channel> out = net.out(v);
            shortest.clear();
            bool one_switch = true;
            for (port p = 0; p < static_cast<port>(out.size()); ++p) {
                const vertex w = net.head(out[p]);
                if (v == last ? w != to : !net.is_switch(w) || hops[w] + 1 != hops[v]) continue;
                one_switch = one_switch && (shortest.empty() || w == net.head(out[shortest.front()]));
                shortest.push_back(p);
            }
            std::ranges::stable_sort(shortest, {}, [&](port p) { return net.head(out[p]); });
            const std::uint64_t ways = shortest.size();
            const vertex first = net.head(out[shortest.front()]);
            std::uint64_t divisor = below[stage[v]];
            if (one_switch && ways > 1 && stage[first] < stage[v])
                divisor = below[stage[first]] * std::max<std::uint64_t>(ways_up[stage[first]] / ways, 1);
            row[v - net.endpoints()] = shortest[to / divisor % ways];
        }
    }
    return tables;
}

}  // namespace rubato::simulator
