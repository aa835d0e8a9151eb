// What one place's sampled calls say, one by one, each with its own arrivals: who is late (always the same ranks, a
// host, ranks that take turns, or whoever by chance) and why, and what other arrivals or other algorithms would change.
#pragma once

#include "dropin/observe/observation.hpp"
#include "rubato/model.hpp"

#include <optional>

namespace rubato::reports {

// Arrivals of a call, and what they would be if something were mended.

using arrival_times = std::vector<time_ns>;

/// The median arrival; of an even number, the earlier of the two in the middle.
time_ns typical(const arrival_times& arrivals);
/// These ranks arrive with the median of the others, unless they were earlier.
arrival_times without(const arrival_times& arrivals, std::span<const std::int32_t> ranks);
/// Ranks that are more than half as far behind the median as the last arrive with the median.
arrival_times without_stragglers(const arrival_times& arrivals);
/// Nobody arrives later than the median.
arrival_times without_noise(const arrival_times& arrivals);
/// All arrive with the mean: the work is the same, and evenly shared.
arrival_times balanced(const arrival_times& arrivals);

/// A test that says something by chance once in a thousand places is believed.
inline constexpr double believed_p = 0.001;
/// Ranks are to blame for what they do at half of the calls, or more.
inline constexpr double most_of_them = 0.5;
/// Calls of one turn end with the same rank this often, or more.
inline constexpr double takes_turns = 0.7;
/// Calls are looked at from the costliest on, until they hold this share of all waiting.
inline constexpr double costly_share = 0.9;

struct latecomers {
    enum class kind : std::uint8_t { ranks, host, turns, chance };

    kind how = kind::chance;
    std::vector<std::int32_t> ranks{};  ///< of the communicator, in order; of chance, none
    std::size_t calls = 0;              ///< that were looked at: those that cost most
    double share = 0;          ///< of these calls: the last rank is one of `ranks`; of turns, it is as foretold
    double by_chance = 0;      ///< what this share would be by chance
    double p = 1;              ///< of so large a share by chance; of kind chance, of counts as uneven by chance
    std::uint64_t period = 0;  ///< of turns: the last rank is the same again so many calls later
    time_ns late{};            ///< how far the last is behind the median rank, median over these calls
};

/// `hosts`: of each rank of the communicator. Needs at least one example.
latecomers find_latecomers(const dropin::arrivals_seen& seen, std::span<const std::string> hosts);

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
bool auto_may_replace(const dropin::observation& o, const dropin::row& r);

/// Of a row whose arrivals were seen.
examined examine(const dropin::observation& o, const dropin::row& r, const std::optional<model>& network);

}  // namespace rubato::reports
