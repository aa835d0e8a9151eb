// What calls have cost, from what all ranks saw of them.
#pragma once

#include "core/portable.hpp"

#include <span>
#include <vector>

namespace rubato::direct {

/// One call, as all ranks saw it, on the clock that they share.
struct sample {
    std::uint64_t call = 0;  ///< number among those of its operation
    std::size_t by = 0;      ///< which contender made it
    std::int64_t bytes = 0;
    std::vector<time_ns> arrivals{};
    std::vector<time_ns> exits{};
    std::vector<time_ns> next{};  ///< when each arrived at the call after it
};

struct cost {
    time_ns tail{};  ///< from the last arrival to the last exit
    /// From the last arrival at one call to the last arrival at the next: ranks that were ahead may lose their lead,
    /// but the program ends with the last rank.
    time_ns period{};
    bool runs_ahead = false;  ///< a rank arrived at the next call before the last one at this
};
/// The tail is scaled to `bytes`: calls of an operation differ in size by up to two, and so do their times.
cost cost_of(const sample& s, std::int64_t bytes);

/// What calls in a row have cost.
struct level {
    time_ns tail{};
    time_ns pace{};   ///< the mean period: the program's time per call
    time_ns noise{};  ///< how far off the pace may be
    bool runs_ahead = false;
};
/// Takes an even number of calls, so that calls which alternate between two places of the program have equal weight.
level level_of(std::span<const cost> calls);

/// A share of a time.
inline time_ns part(time_ns t, double share) { return time_within(static_cast<double>(t.count()) * share); }

}  // namespace rubato::direct
