// What one place's sampled calls say, one by one, each with its own arrivals: who is late and why, and what other
// arrivals or other algorithms would change.
#pragma once

#include "report/latecomers.hpp"
#include "rubato/model.hpp"

#include <optional>

namespace rubato::report {

/// A row with an algorithm of ours instead: simulated calls, each with its own arrivals. Plans expect the median ones.
struct what_if {
    std::string name{};         ///< "reduce/chain@8KiB"
    time_ns run_time{};         ///< mean
    time_ns tail{};             ///< mean
    bool by_arrivals = false;   ///< it plans for late ranks: no library has it
    bool extrapolated = false;  ///< from fewer ranks, with the median arrivals
};

/// Where the last rank's lateness comes from.
enum class origin : std::uint8_t {
    unknown,
    outside,  ///< collectives: it computes longer, or waits for messages of other kinds
    earlier,  ///< it leaves the call before later than others
};

struct examined {
    latecomers late{};
    origin from = origin::unknown;

    // Of the sampled calls, means.
    std::size_t sampled = 0;
    time_ns run_time{};
    time_ns tail{};
    /// Savings of a call if those who are late were not; without stragglers of any kind; with evenly shared work.
    time_ns mended{};
    time_ns without_stragglers{};
    time_ns balanced{};

    // With a model.
    bool replaceable = false;        ///< by mode auto
    std::vector<what_if> instead{};  ///< the best first; rows that mode auto leaves alone have no plans by arrivals
    std::string ran{};               ///< the algorithm that ran or, of the native call, the most similar one
    bool ran_is_known = false;
    double error = 0;  ///< of the mean simulated tail of `ran`, as a share of the measured one
    /// Of calls that do not block: by the best algorithm, if nobody were late.
    std::optional<time_ns> alone{};

    const what_if* best_plan() const;     ///< of all; null if nothing was simulated
    const what_if* best_classic() const;  ///< of those that a library may have; null likewise
};

/// Whether mode auto may replace such calls.
bool auto_may_replace(const observe::observation& o, const observe::row& r);

/// Of a row whose arrivals were seen.
examined examine(const observe::observation& o, const observe::row& r, const std::optional<model>& network);

}  // namespace rubato::report
