// A network as a value: endpoints and switches, joined by cables.
#pragma once

#include "rubato/core.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace rubato::simulator {

/// Endpoints come first, 0 to endpoints - 1; the switches follow.
using vertex = std::uint32_t;
/// One direction of a cable: channel 2c leads from the first end of cable c to the second, channel 2c + 1 back.
using channel = std::uint32_t;

struct cable {
    vertex a;
    vertex b;

    bool operator==(const cable&) const = default;
};

/// The switches of a network lie on a grid: switch s has the coordinates of s, the last size counting fastest.
struct lattice {
    std::vector<std::uint32_t> sizes{};
    bool periodic = false;
};

/// The number of a channel among those that leave its vertex.
using port = std::uint16_t;
inline constexpr port no_port = UINT16_MAX;

class RUBATO_API network {
public:
    /// Throws unless each endpoint has one cable, to a switch, and all are connected.
    network(std::string name, vertex endpoints, vertex switches, std::vector<cable> cables,
            std::vector<std::string> names = {});

    const std::string& name() const { return name_; }
    vertex endpoints() const { return endpoints_; }
    vertex switches() const { return vertices() - endpoints_; }
    vertex vertices() const { return static_cast<vertex>(first_.size()) - 1; }
    const std::vector<cable>& cables() const { return cables_; }
    channel channels() const { return static_cast<channel>(2 * cables_.size()); }
    vertex tail(channel c) const { return c % 2 == 0 ? cables_[c / 2].a : cables_[c / 2].b; }
    vertex head(channel c) const { return heads_[c]; }
    bool is_switch(vertex v) const { return v >= endpoints_; }
    /// The channels that leave a vertex, in the order of cables.
    std::span<const channel> out(vertex v) const {
        return std::span(out_).subspan(first_[v], first_[v + 1] - first_[v]);
    }
    /// The switch of an endpoint, and the channel that leads there.
    vertex switch_of(vertex endpoint) const { return heads_[out_[first_[endpoint]]]; }
    channel uplink(vertex endpoint) const { return out_[first_[endpoint]]; }

    /// Of a vertex, the number of its first channel to another one, which must have a cable to it.
    port port_to(vertex from, vertex to) const;
    /// The number of a channel.
    port port_of(channel c) const {
        return static_cast<port>(std::ranges::find(out(tail(c)), c) - out(tail(c)).begin());
    }

    /// "h3", "s0", or what a file called it.
    std::string name_of(vertex v) const;

    // What only some networks have.
    lattice grid{};  ///< no sizes: none
    /// The forwarding tables that it came with: of each endpoint, the port of every switch for messages to it.
    std::vector<port> tables{};
    /// Of tables like these.
    std::size_t entry(vertex to, vertex at_switch) const {
        return std::size_t{to} * switches() + at_switch - endpoints_;
    }

private:
    std::string name_;
    vertex endpoints_;
    std::vector<cable> cables_;
    std::vector<std::string> names_;  // of all vertices, or of none
    std::vector<vertex> heads_{};
    std::vector<std::uint32_t> first_{};
    std::vector<channel> out_{};
};

/// How many cables lead from each vertex to a switch, at least. Endpoints are left out: theirs are 0.
RUBATO_API std::vector<std::uint32_t> hops_to(const network& net, vertex to);
/// How many endpoints each vertex has.
std::vector<std::uint32_t> endpoints_at(const network& net);
/// How many cables lead from each vertex to the nearest endpoint.
RUBATO_API std::vector<std::uint32_t> stages_of(const network& net);

/// Switches and cables while a network is generated. Endpoints get their numbers in the order in which they are
/// attached.
class wiring {
public:
    /// The first of them.
    vertex add_switches(std::uint64_t count);
    void attach_endpoint(vertex to_switch) { hosts_.push_back(to_switch); }
    void join(vertex switch_a, vertex switch_b) { cables_.push_back({switch_a, switch_b}); }
    network finish(std::string name) &&;

private:
    vertex switches_ = 0;
    std::vector<vertex> hosts_{};  // the switch of each endpoint
    std::vector<cable> cables_{};  // between switches
};

/// Networks of a generator have at most so many switches and endpoints.
inline constexpr std::int64_t most_vertices = 1 << 22;

}  // namespace rubato::simulator
