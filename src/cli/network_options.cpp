#include "cli/network_options.hpp"

#include "topology/generators.hpp"
#include "topology/remap.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato::cli {

void network_options::add_to(CLI::App& app) {
    app.add_option("--network", network,
                   "messages share the cables of a network, such as fattree:crossbar=8,ports=16 ('rubato help topo')")
        ->type_name("NETWORK");
    app.add_option("--routing", routing, "of the network, as for 'rubato topo'")->type_name("NAME");
    app.add_option("--mapping", mapping,
                   "the endpoints of ranks in the network: random:SEED, or a file with a number or name for each rank\n"
                   "(default: rank r, or host h, is its endpoint r or h)")
        ->type_name("MAPPING");
    app.add_option("--order", order,
                   "ranks, or network: algorithms take ranks that are near each other in the network one after the\n"
                   "other, and two_level ones take a switch for a host (default: ranks)")
        ->type_name("ORDER");
}

std::optional<placed_ranks> network_options::place(problem& p) const {
    if (network.empty()) {
        if (!routing.empty())
            throw error("--routing without --network", "there are no switches", "say which network it is");
        if (!mapping.empty())
            throw error("--mapping without --network", "there are no endpoints", "say which network it is");
        if (!order.empty())
            throw error("--order without --network", "nothing is known of what is near", "say which network it is");
        return std::nullopt;
    }
    if (!order.empty() && order != "ranks" && order != "network")
        throw error(fmt::format("unknown order '{}'", order), "known are ranks, network", "give one of them");
    placed_ranks on(topology::parse_network(network), routing);
    const topology::vertex endpoints = on.net().endpoints();
    on.where = topology::read_mapping(mapping, static_cast<std::uint32_t>(p.ranks), on.net());
    if (p.hosts.empty()) {
        std::vector<std::int32_t> hosts = numbered_hosts(on.where);
        if (std::ranges::max(hosts) + 1 < p.ranks) p.hosts = std::move(hosts);
        return on;
    }
    if (!mapping.empty())
        throw error("--hosts with --mapping", "ranks share a host if they share an endpoint", "leave out one of them");
    const std::int32_t hosts = std::ranges::max(p.hosts) + 1;
    if (static_cast<topology::vertex>(hosts) > endpoints)
        throw error(fmt::format("{} hosts on '{}'", hosts, network), fmt::format("it has {} endpoints", endpoints),
                    "give fewer hosts or a larger network");
    std::ranges::copy(p.hosts, on.where.begin());
    return on;
}

void network_options::put_in_order(problem& p, const placed_ranks& on) const {
    if (order != "network") return;
    p.places = topology::places_of(on.net(), on.where);
    p.hosts = topology::groups_of(on.net(), on.where);
}

std::string network_options::describe() const {
    if (network.empty()) return "";
    return fmt::format(", network {}{}{}{}", network, routing.empty() ? "" : fmt::format(", routing {}", routing),
                       mapping.empty() ? "" : fmt::format(", mapping {}", mapping),
                       order.empty() ? "" : fmt::format(", order {}", order));
}

}  // namespace rubato::cli
