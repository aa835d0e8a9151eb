// Dimension order on a grid of switches: the first coordinate that differs is made equal, the shorter way around in a
// torus; where both ways are as long, switches with even coordinates go forward and the others back. On a mesh and a
// hypercube (e-cube) it never deadlocks; on a torus it does without virtual channels.
// Source: Dally and Seitz 1987.
#include "simulator/topology/routing.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato::simulator {

std::vector<port> dimension_order_tables(const network& net) {
    const std::vector<std::uint32_t>& sizes = net.grid.sizes;
    if (sizes.empty())
        throw error(fmt::format("'{}' has no dimensions", net.name()), "they belong to torus, mesh and hypercube",
                    "choose another --routing");
    const vertex switches = net.switches();
    std::vector<vertex> steps(sizes.size());  // between neighbours
    vertex step = switches;
    for (std::size_t d = 0; d < sizes.size(); ++d) steps[d] = step /= sizes[d];

    const auto towards = [&](vertex from, vertex to) {
        for (std::size_t d = 0; d < sizes.size(); ++d) {
            const std::uint32_t here = from / steps[d] % sizes[d];
            const std::uint32_t there = to / steps[d] % sizes[d];
            if (here == there) continue;
            const std::uint32_t ahead = (there + sizes[d] - here) % sizes[d];
            const std::uint32_t behind = sizes[d] - ahead;
            const bool forward = !net.grid.periodic ? there > here : ahead != behind ? ahead < behind : here % 2 == 0;
            const std::uint32_t next = (here + (forward ? 1 : sizes[d] - 1)) % sizes[d];
            return from + next * steps[d] - here * steps[d];
        }
        return from;
    };
    const vertex first = net.endpoints();
    std::vector<port> tables(std::size_t{net.endpoints()} * switches);
    for (vertex to = 0; to < net.endpoints(); ++to)
        for (vertex s = 0; s < switches; ++s) {
            const vertex next = towards(s, net.switch_of(to) - first);
            tables[net.entry(to, first + s)] = net.port_to(first + s, next == s ? to : first + next);
        }
    return tables;
}

}  // namespace rubato::simulator
