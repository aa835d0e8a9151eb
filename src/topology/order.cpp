// The order of ranks in which neighbours are near each other: a walk through the network that always goes on to the
// nearest switch. In a tree, it leaves a subtree when it has been everywhere in it, so a ring of ranks in this order
// uses every upper cable as seldom as a ring can.
#include "topology/congestion.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace rubato::topology {

std::vector<std::int32_t> places_of(const network& net, const mapping& where) {
    if (where.empty()) return {};
    std::vector<vertex> left;  // switches with ranks
    for (const vertex endpoint : where) left.push_back(net.switch_of(endpoint));
    std::ranges::sort(left);
    left.erase(std::ranges::unique(left).begin(), left.end());
    std::vector<std::uint32_t> turn(net.vertices());
    std::uint32_t next = 0;
    for (vertex here = left.front();;) {
        turn[here] = next++;
        left.erase(std::ranges::find(left, here));
        if (left.empty()) break;
        const std::vector<std::uint32_t> hops = hops_to(net, here);
        here = *std::ranges::min_element(left, {}, [&hops](vertex v) { return hops[v]; });
    }
    std::vector<std::int32_t> ranks(where.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    std::ranges::sort(ranks, {}, [&](std::int32_t r) {
        const vertex endpoint = where[static_cast<std::size_t>(r)];
        return std::tuple(turn[net.switch_of(endpoint)], endpoint, r);
    });
    std::vector<std::int32_t> places(where.size());
    for (std::size_t i = 0; i < ranks.size(); ++i)
        places[static_cast<std::size_t>(ranks[i])] = static_cast<std::int32_t>(i);
    return places;
}

std::vector<std::int32_t> groups_of(const network& net, const mapping& where) {
    std::vector<std::int32_t> hosts = numbered_hosts(where);
    const auto count = [](const std::vector<std::int32_t>& groups) { return std::ranges::max(groups) + 1; };
    if (count(hosts) < std::ssize(where)) return hosts;
    std::vector<vertex> switches;
    for (const vertex endpoint : where) switches.push_back(net.switch_of(endpoint));
    hosts = numbered_hosts(switches);
    if (count(hosts) == std::ssize(where) || count(hosts) == 1) return {};
    return hosts;
}

}  // namespace rubato::topology
