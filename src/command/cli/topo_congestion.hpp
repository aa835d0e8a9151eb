// What collectives and patterns of messages do to a network, for `rubato topo`.
#pragma once

#include "command/cli/command.hpp"
#include "simulator/topology/congestion.hpp"

namespace rubato::command {

/// The options that say which messages there are.
struct traffic_options {
    std::int32_t ranks = 0;     ///< 0: as many as endpoints
    std::int32_t mappings = 0;  ///< random ones; 0: rank r on endpoint r
    std::int32_t segments = 0;  ///< 0: what is best
    std::string bytes{};
    std::string model_text = "curie";
    bool rounds = false;

    void add_to(CLI::App& app);
};
/// Throws if an option was given that changes nothing.
void check_traffic(const CLI::App& app, bool congestion, bool mix);

/// The messages of an algorithm, or of a pattern such as "tree".
struct named_traffic {
    std::string name{};
    simulator::traffic messages{};
    std::uint32_t segments = 1;
    std::string skipped{};  ///< why there are none
};
/// A collective, some of its algorithms, or a pattern. Of the numbers of segments, the one with the least time on this
/// network.
std::vector<named_traffic> traffics(const simulator::routes& r, const std::string& what, std::uint32_t ranks,
                                    const traffic_options& o);

struct congestion_row {
    named_traffic of{};
    std::vector<simulator::round_congestion> rounds{};  ///< of the first mapping
    // Means over mappings:
    double largest = 0;
    double connections = 0;
    double cables = 0;
    simulator::share bandwidth{};
    double ns = 0;
};
struct congestion_table {
    std::uint32_t ranks = 0;
    std::int32_t mappings = 0;
    bool by_round = false;
    bool timed = false;
    std::vector<congestion_row> rows{};  ///< the fastest first
};
congestion_table congestion_of(const simulator::routes& r, const std::vector<std::string>& what,
                               const traffic_options& o);
std::string as_text(const congestion_table& t);
base::json as_json(const congestion_table& t);

/// The time that an application would take with full bandwidth, in percents of what it takes (Hoefler 2008, II.4.4.2).
struct mix_estimate {
    struct part {
        std::string name;
        double percent;
        double share;
    };
    std::vector<part> parts{};
    double remaining = 100;
    std::int32_t mappings = 0;
};
mix_estimate estimate_mix(const simulator::routes& r, const std::string& mix, const traffic_options& o);
std::string as_text(const mix_estimate& m);
base::json as_json(const mix_estimate& m);

}  // namespace rubato::command
