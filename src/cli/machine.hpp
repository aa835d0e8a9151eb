// The machine that is simulated, apart from what its messages cost: noise, slow ranks, shared links.
#pragma once

#include "rubato/simulate.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace rubato::cli {

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

}  // namespace rubato::cli
