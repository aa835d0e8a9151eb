// Arrivals of every kind, with rounds from far shorter than their spread to far longer, and hosts of every kind.
#pragma once

#include "rubato/algorithm.hpp"
#include "rubato/arrival.hpp"
#include "rubato/problem.hpp"

#include <string>
#include <vector>

namespace rubato::testing {

struct timing {
    std::string pattern = "balanced";
    std::vector<time_ns> arrivals{};
    time_ns round_time{};
    std::vector<std::int32_t> hosts{};  ///< for algorithms that use them
};

/// All ranks together; for algorithms that use arrivals also every other pattern, or some of them for many ranks.
inline std::vector<timing> timings(const algorithm& a, std::int32_t ranks, std::int32_t root) {
    using namespace std::chrono_literals;
    std::vector<timing> all{{}};
    if (!a.arrival_aware) return all;
    const std::vector<time_ns> round_times{100ns, 10us, 10ms};
    for (const std::string& pattern : patterns_to_try(ranks, rank(root))) {
        const std::vector<time_ns> arrivals = parse_arrivals(pattern, ranks);
        if (ranks <= 9)
            for (const time_ns d : round_times) all.push_back({pattern, arrivals, d, {}});
        else
            all.push_back({pattern, arrivals, round_times[(all.size() + static_cast<std::size_t>(ranks)) % 3], {}});
    }
    const std::vector<std::string> hosts = hosts_to_try(ranks);
    for (std::size_t i = 0; a.host_aware && i < all.size(); ++i)
        all[i].hosts = parse_hosts(hosts[(i + static_cast<std::size_t>(root)) % hosts.size()], ranks);
    return all;
}

}  // namespace rubato::testing
