#include "command/cli/machine.hpp"

#include "base/core/hosts.hpp"
#include "simulator/topology/generators.hpp"
#include "simulator/topology/remap.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato::command {

void machine::refuse_on_cables() const {
    if (shared_links || !slow.processors.empty() || !slow.links.empty())
        throw error("--network with --slow or --share-links", "a network's cables are all alike and shared as they are",
                    "leave out one of them");
}

void machine_options::add_to(CLI::App& app) {
    add_value(app, "--noise", noise_text, "NOISE",
              "the processors' detours: fixed:period=1ms,duration=10us,seed=1, random:... (exponential), or "
              "file:NAME[,seed=1] (lines: begin, duration)");
    one_value_each_time(
        add_value(app, "--slow", slow, "SLOW",
                  "a rank that takes longer to compute, or whose link takes longer: rank=3,factor=2, link=3,factor=2;\n"
                  "may be given several times"));
    add_flag(app, "--share-links", share_links,
             "the ranks of a host (--hosts) share its link to other hosts; loggp and loggops models");
}

machine machine_options::make(std::int32_t ranks) const {
    return {noise_text.empty() ? noise{} : parse_noise(noise_text), parse_slow(slow, ranks), share_links};
}

std::string machine_options::describe() const {
    std::string text = noise_text.empty() ? "" : fmt::format(", noise {}", noise_text);
    for (const std::string& s : slow) text += fmt::format(", slow {}", s);
    if (share_links) text += ", shared links";
    return text;
}

void network_options::add_to(CLI::App& app) {
    add_value(app, "--network", network, "NETWORK",
              "messages share the cables of a network, such as fattree:crossbar=8,ports=16 ('rubato help topo')");
    add_value(app, "--routing", routing, "NAME", "of the network, as for 'rubato topo'");
    add_value(app, "--mapping", mapping, "MAPPING",
              "the endpoints of ranks in the network: random:SEED, or a file with a number or name for each rank\n"
              "(default: rank r, or host h, is its endpoint r or h)");
    add_value(app, "--order", order, "ORDER",
              "ranks, or network: algorithms take ranks that are near each other in the network one after the\n"
              "other, and two_level ones take a switch for a host (default: ranks)");
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
    const auto net = std::make_shared<const simulator::network>(simulator::parse_network(network));
    placed_ranks on{net, simulator::route(*net, routing)};
    on.where = simulator::read_mapping(mapping, static_cast<std::uint32_t>(p.ranks), *net);
    if (p.hosts.empty()) {
        std::vector<std::int32_t> hosts = numbered_hosts(on.where);
        if (base::are_shared(hosts)) p.hosts = std::move(hosts);
        return on;
    }
    if (!mapping.empty())
        throw error("--hosts with --mapping", "ranks share a host if they share an endpoint", "leave out one of them");
    const std::int32_t hosts = base::count_hosts(p.hosts);
    if (static_cast<simulator::vertex>(hosts) > net->endpoints())
        throw error(fmt::format("{} hosts on '{}'", hosts, network),
                    fmt::format("it has {} endpoints", net->endpoints()), "give fewer hosts or a larger network");
    std::ranges::copy(p.hosts, on.where.begin());
    return on;
}

void network_options::put_in_order(problem& p, const placed_ranks& on) const {
    if (order != "network") return;
    p.places = simulator::places_of(*on.net, on.where);
    p.hosts = simulator::groups_of(*on.net, on.where);
}

std::string network_options::describe() const {
    if (network.empty()) return "";
    return fmt::format(", network {}{}{}{}", network, routing.empty() ? "" : fmt::format(", routing {}", routing),
                       mapping.empty() ? "" : fmt::format(", mapping {}", mapping),
                       order.empty() ? "" : fmt::format(", order {}", order));
}

}  // namespace rubato::command
