// What a director finds out about the calls of an operation: what it decided, and why; what it has learned, for the
// next run of the same program.
#pragma once

#include "rubato/problem.hpp"
#include "simulator/arrival/predictor.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace rubato::dropin {

/// Equal on all ranks.
struct decision {
    /// Left: no plan makes the calls. Tried, kept, withdrawn: a plan makes some calls, stays, or is given up.
    enum class verdict : std::uint8_t { left, tried, kept, withdrawn, forced };
    /// What the choice predicted for a plan.
    struct promise {
        std::uint32_t segments = 1;
        time_ns tail{};
        time_ns chosen_in{};  ///< how long choosing took

        bool operator==(const promise&) const = default;
    };
    struct times {
        time_ns tail{};    ///< from the last arrival to the last exit
        time_ns period{};  ///< from one call to the next

        bool operator==(const times&) const = default;
    };
    /// Predicted arrivals.
    struct arrival_pattern {
        std::int32_t first = 0;  ///< rank
        std::int32_t last = 0;
        time_ns imbalance{};

        bool operator==(const arrival_pattern&) const = default;
    };

    verdict made = verdict::left;
    collective what = collective::barrier;
    std::int64_t bytes = 0;
    std::optional<std::int32_t> root{};
    std::int32_t ranks = 0;
    std::uint64_t call = 0;  ///< of the operation; the first is 1
    std::string algorithm{};
    std::optional<promise> promised{};
    std::optional<times> measured{};
    std::string incumbent{};  ///< what made the calls; empty if nothing was compared
    std::optional<times> of_incumbent{};
    std::optional<times> of_native{};  ///< where native is neither of the two
    std::optional<arrival_pattern> pattern{};
    std::string reason{};

    bool operator==(const decision&) const = default;
};

struct experience {
    struct times {
        time_ns tail{};  ///< from the last arrival to the last exit
        time_ns pace{};  ///< from one call to the next

        bool operator==(const times&) const = default;
    };

    simulator::operation kind{};
    std::int64_t bytes = 0;    ///< of a call that the times are for
    std::string algorithm{};   ///< the plan that made the calls at last; empty: the native collective did
    std::int64_t segment = 0;  ///< bytes
    time_ns round_time{};
    bool rolls = false;  ///< roll was called for it
    times of_native{};
    times of_plan{};                  ///< if there was one
    std::vector<time_ns> arrivals{};  ///< as they are expected, one per rank, the earliest at 0; may be empty

    bool operator==(const experience&) const = default;
};

/// A rank, and how long after the earliest it is expected.
struct late_rank {
    rank who{};
    time_ns by{};
};
/// Nobody if all are expected together, or nothing is known.
inline std::optional<late_rank> latest(const experience& e) {
    const auto last = std::ranges::max_element(e.arrivals);
    if (last == e.arrivals.end() || *last == std::ranges::min(e.arrivals)) return std::nullopt;
    return late_rank{rank(static_cast<std::int32_t>(last - e.arrivals.begin())), *last - std::ranges::min(e.arrivals)};
}

}  // namespace rubato::dropin
