// Arrivals of every kind, with rounds from far shorter than their spread to far longer.
#pragma once

#include "rubato/algorithm.hpp"
#include "rubato/arrival.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace rubato::testing {

struct timing {
    std::string pattern = "balanced";
    std::vector<time_ns> arrivals{};
    time_ns round_time{};
};

inline std::vector<std::string> arrival_patterns(std::int32_t ranks, std::int32_t root) {
    const std::int32_t other = (root + 1) % ranks;
    const auto list = [ranks](auto time_of) {
        std::string text;
        for (std::int32_t r = 0; r < ranks; ++r) text += fmt::format("{}{}us", r == 0 ? "" : ",", time_of(r));
        return text;
    };
    return {fmt::format("single:rank={},delay=200us", root),
            fmt::format("single:rank={},delay=200us", other),
            list([root](std::int32_t r) { return r == root ? 0 : 200; }),
            list([other](std::int32_t r) { return r == other ? 0 : 200; }),
            "alternating:even=0,odd=100us",
            "alternating:even=100us,odd=0",
            "uniform:max=200us,seed=1",
            "normal:mean=100us,sd=30us,seed=1",
            "gamma:shape=2,scale=30us,seed=1",
            "bernoulli:p=0.3,delay=100us,seed=1",
            list([](std::int32_t r) { return r % 5 * 5; })};  // ties, also after some rounds
}

/// Everybody together, and for algorithms that care, everything else: all of it for few ranks, a part for many.
inline std::vector<timing> timings(const algorithm& a, std::int32_t ranks, std::int32_t root) {
    using namespace std::chrono_literals;
    std::vector<timing> all{{}};
    if (!a.arrival_aware) return all;
    const std::vector<time_ns> round_times{100ns, 10us, 10ms};
    for (const std::string& pattern : arrival_patterns(ranks, root)) {
        const std::vector<time_ns> arrivals = parse_arrivals(pattern, ranks);
        if (ranks <= 9)
            for (const time_ns d : round_times) all.push_back({pattern, arrivals, d});
        else
            all.push_back({pattern, arrivals, round_times[(all.size() + static_cast<std::size_t>(ranks)) % 3]});
    }
    return all;
}

}  // namespace rubato::testing
