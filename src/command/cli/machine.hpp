// On what calls are simulated: unequal and disturbed ranks, and the network on which their messages meet.
#pragma once

#include "command/cli/command.hpp"
#include "rubato/simulate.hpp"
#include "simulator/topology/flows.hpp"

#include <memory>

namespace rubato::command {

struct machine {
    noise detours{};
    slow_ranks slow{};
    bool shared_links = false;

    /// Ranks differ, or not all that they do is known from fewer ranks.
    bool is_special() const { return detours.any() || !slow.processors.empty() || !slow.links.empty() || shared_links; }
    /// Throws if it differs by what a network's cables say.
    void refuse_on_cables() const;
    /// It must outlive them.
    void set(simulation_options& how) const {
        how.detours = &detours;
        how.slow = &slow;
        how.shared_links = shared_links;
    }
};

/// The options --noise, --slow and --share-links.
struct machine_options {
    std::string noise_text{};
    std::vector<std::string> slow{};
    bool share_links = false;

    void add_to(CLI::App& app);
    machine make(std::int32_t ranks) const;
    /// ", noise fixed:...", or nothing.
    std::string describe() const;
};

/// Ranks on a network.
struct placed_ranks {
    std::shared_ptr<const simulator::network> net;  ///< stays where it is
    simulator::routes routing;
    simulator::mapping where{};  ///< the endpoint of each rank

    simulation simulate(const model& network, schedules::shape_table& ranks, std::span<const time_ns> arrivals,
                        const simulation_options& how) const {
        return simulator::simulate_on(routing, where, network, ranks, arrivals, how);
    }
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

}  // namespace rubato::command
