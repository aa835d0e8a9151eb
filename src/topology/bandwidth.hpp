// What static routing leaves of a network's bandwidth.
#pragma once

#include "topology/routing.hpp"

namespace rubato::topology {

struct connection {
    vertex from;
    vertex to;
};

/// The congestion of connections that are used at once: a channel carries so many of them.
class RUBATO_API meter {
public:
    explicit meter(const routes& r) : routes_(&r), load_(r.net().channels()) {}

    void read(std::span<const connection> at_once);

    std::size_t size() const { return first_.size() - 1; }
    /// Of a connection: of its channels, the most connections on one. 0 if it leads nowhere.
    std::uint32_t of(std::size_t i) const;
    std::span<const channel> path(std::size_t i) const {
        return std::span(paths_).subspan(first_[i], first_[i + 1] - first_[i]);
    }
    std::uint32_t load(channel c) const { return load_[c]; }
    /// Of all connections together, how many channels they use, each counted once per connection.
    std::uint64_t hops() const { return paths_.size(); }

private:
    const routes* routes_;
    std::vector<std::uint32_t> load_;
    std::vector<channel> paths_{};
    std::vector<std::size_t> first_{0};
};

/// Pattern `number` of a seed: each endpoint of a random half sends to one of the other half.
RUBATO_API std::vector<connection> random_bisection(vertex endpoints, std::uint64_t seed, std::uint64_t number);
/// The mean over its connections of the share of bandwidth that each gets: 1 / congestion (Hoefler 2008, II.4.2).
RUBATO_API double bandwidth_of(meter& m, std::span<const connection> pattern);

/// Of the routes between all pairs of endpoints, how many use each channel.
RUBATO_API std::vector<std::uint64_t> routes_on_channels(const routes& r);

/// Of routes between all pairs of endpoints, how many share the busiest cable of a route; cables of endpoints and
/// routes within a switch do not count (Hoefler 2008, II.5.2).
struct forwarding_index {
    double mean = 0;
    double sd = 0;
    std::uint64_t min = 0;
    std::uint64_t max = 0;
};
RUBATO_API forwarding_index forwarding_index_of(const routes& r);

}  // namespace rubato::topology
