// What a director decided about the calls of an operation, and why. Equal on all ranks.
#pragma once

#include "rubato/problem.hpp"

#include <optional>
#include <string>

namespace rubato {

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

}  // namespace rubato
