#include "simulator/topology/cabling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace rubato::simulator {
namespace {

[[noreturn]] void refuse(const network& net, std::string_view reason, std::string_view way_out) {
    throw error(fmt::format("the network '{}' cannot be used", net.name()), reason, way_out);
}

/// To the nearest of the vertices that were reached; `hops` is 0 at these, and UINT32_MAX where it is unknown.
void spread(const network& net, std::vector<vertex> reached, std::vector<std::uint32_t>& hops) {
    for (std::size_t i = 0; i < reached.size(); ++i)
        for (const channel c : net.out(reached[i])) {
            const vertex v = net.head(c);
            if (hops[v] != UINT32_MAX) continue;
            hops[v] = hops[reached[i]] + 1;
            reached.push_back(v);
        }
}

}  // namespace

network::network(std::string name, vertex endpoints, vertex switches, std::vector<cable> cables,
                 std::vector<std::string> names)
    : name_(std::move(name)), endpoints_(endpoints), cables_(std::move(cables)), names_(std::move(names)) {
    first_.assign(endpoints + switches + 1U, 0);
    for (const cable& c : cables_) {
        heads_.insert(heads_.end(), {c.b, c.a});
        ++first_[c.a + 1];
        ++first_[c.b + 1];
    }
    for (vertex v = 0; v < vertices(); ++v) first_[v + 1] += first_[v];
    out_.resize(heads_.size());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (channel c = 0; c < channels(); ++c) out_[next[tail(c)]++] = c;

    if (endpoints == 0) refuse(*this, "it has no endpoint", "attach some");
    for (vertex e = 0; e < endpoints; ++e)
        if (out(e).size() != 1 || !is_switch(switch_of(e)))
            refuse(*this, fmt::format("endpoint {} has {} cables", name_of(e), out(e).size()),
                   "an endpoint has one cable, to a switch");
    for (vertex v = endpoints; v < vertices(); ++v)
        if (out(v).size() >= no_port)
            refuse(*this, fmt::format("switch {} has {} cables", name_of(v), out(v).size()),
                   fmt::format("a switch may have {}", no_port - 1));
    const std::vector<std::uint32_t> hops = hops_to(*this, switch_of(0));
    for (vertex v = endpoints; v < vertices(); ++v)
        if (hops[v] == UINT32_MAX)
            refuse(*this, fmt::format("no cable leads from {} to {}", name_of(0), name_of(v)), "connect all switches");
}

std::string network::name_of(vertex v) const {
    if (!names_.empty()) return names_[v];
    return is_switch(v) ? fmt::format("s{}", v - endpoints_) : fmt::format("h{}", v);
}

port network::port_to(vertex from, vertex to) const {
    const std::span<const channel> all = out(from);
    return static_cast<port>(std::ranges::find(all, to, [this](channel c) { return head(c); }) - all.begin());
}

std::vector<std::uint32_t> stages_of(const network& net) {
    std::vector<std::uint32_t> hops(net.vertices(), UINT32_MAX);
    std::fill_n(hops.begin(), net.endpoints(), 0);
    std::vector<vertex> reached(net.endpoints());
    std::iota(reached.begin(), reached.end(), 0);
    spread(net, std::move(reached), hops);
    return hops;
}

std::vector<std::uint32_t> hops_to(const network& net, vertex to) {
    std::vector<std::uint32_t> hops(net.vertices(), UINT32_MAX);
    std::fill_n(hops.begin(), net.endpoints(), 0);
    hops[to] = 0;
    spread(net, {to}, hops);
    return hops;
}

std::vector<std::uint32_t> endpoints_at(const network& net) {
    std::vector<std::uint32_t> attached(net.vertices(), 0);
    for (vertex e = 0; e < net.endpoints(); ++e) ++attached[net.switch_of(e)];
    return attached;
}

vertex wiring::add_switches(std::uint64_t count) {
    if (switches_ + count > most_vertices)
        throw error("a network with too many switches", fmt::format("up to {} can be generated", most_vertices),
                    "give smaller numbers");
    return std::exchange(switches_, switches_ + static_cast<vertex>(count));
}

network wiring::finish(std::string name) && {
    const auto endpoints = static_cast<vertex>(hosts_.size());
    std::vector<cable> all;
    all.reserve(hosts_.size() + cables_.size());
    for (vertex e = 0; e < endpoints; ++e) all.push_back({e, endpoints + hosts_[e]});
    for (const cable& c : cables_) all.push_back({endpoints + c.a, endpoints + c.b});
    return {std::move(name), endpoints, switches_, std::move(all)};
}

}  // namespace rubato::simulator
