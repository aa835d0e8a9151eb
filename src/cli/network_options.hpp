// The options that say on which network messages meet, and where ranks are in it: of `rubato sim` and `rubato choose`.
#pragma once

#include "cli/command.hpp"
#include "topology/simulate_on.hpp"

#include <memory>

namespace rubato::cli {

/// Ranks on a network.
class placed_ranks {
public:
    placed_ranks(topology::network net, const std::string& routing)
        : net_(std::make_unique<topology::network>(std::move(net))), routing_(topology::route(*net_, routing)) {}

    const topology::network& net() const { return *net_; }
    const topology::routes& routing() const { return routing_; }

    topology::mapping where{};  ///< the endpoint of each rank

private:
    std::unique_ptr<topology::network> net_;  // stays where it is
    topology::routes routing_;
};

struct network_options {
    std::string network{};
    std::string routing{};
    std::string mapping{};
    std::string order{};

    void add_to(CLI::App& app);
    /// Nothing if no network was given. Ranks that share a host share an endpoint, and the other way round: so the
    /// problem gets hosts if it has none. Throws if an option has no effect or contradicts another one.
    std::optional<placed_ranks> place(problem& p) const;
    /// Tells the problem which ranks are near each other, if algorithms are to know.
    void put_in_order(problem& p, const placed_ranks& on) const;
    /// ", network torus:4x4, mapping random:1", or nothing
    std::string describe() const;
};

}  // namespace rubato::cli
