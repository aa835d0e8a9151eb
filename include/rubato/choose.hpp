// Which algorithm suits a problem: those that can solve it are simulated under a cost model, and the best is taken.
// Everything depends on its arguments alone, so ranks with equal arguments choose the same.
#pragma once

#include "rubato/algorithm.hpp"
#include "rubato/model.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rubato {

/// One way to solve a problem.
struct RUBATO_API candidate {
    const algorithm* use = nullptr;  ///< null: not Rubato's; only `name` and `end` are known
    std::string name{};              ///< "reduce/chain@8KiB", "bcast/knomial:8", "native"
    std::int64_t segment = 0;        ///< bytes of each piece that a chunk is cut into; 0: it is not cut
    std::uint32_t segments = 1;
    std::int32_t radix = 0;     ///< 0: the problem's, or the algorithm's own choice
    time_ns round_time{};       ///< that it plans with, if it plans in rounds
    time_ns end{};              ///< when the last rank leaves
    double messages = 0;        ///< that a rank sends and receives, on average
    double partners = 0;        ///< ranks that a rank exchanges messages with, on average
    bool waits = false;         ///< some messages are so large that they wait for their receiver (LogGP)
    bool extrapolated = false;  ///< from fewer ranks

    /// Twice as many partners are one class more.
    int partner_class() const;
};

/// An algorithm in several ways, none if it cannot solve the problem: a segmenting one in pieces of 4 KiB to 64 KiB, or
/// in that many segments, or as many as the problem has if that is not 1. Where several messages leave at once
/// (LogfGP), one that takes a radix with several of them, unless the problem has one. It plans by cautious_round_time
/// unless the problem has a round time.
RUBATO_API std::vector<candidate> candidates_of(const algorithm& a, const problem& p, std::int64_t chunk,
                                                const model& m, std::optional<std::uint32_t> segments = std::nullopt);

/// Likewise all algorithms of the problem's collective, except those that choose while they run and those whose ranks
/// may get different bits. `early`: with early forms, which need a background thread to begin before the rank arrives.
/// `cables`: messages share them, so that it counts how near partners are.
RUBATO_API std::vector<candidate> candidates_for(const problem& p, std::int64_t chunk, const model& m, bool early,
                                                 std::optional<std::uint32_t> segments = std::nullopt,
                                                 bool cables = false);

/// When the last rank leaves, by a simulation of all ranks in which messages share a network's cables.
using end_on_cables = std::function<time_ns(const algorithm&, const problem&)>;
/// What has more steps is not simulated there: it would take seconds.
inline constexpr std::size_t most_steps_on_cables = 1'000'000;

/// The candidates with their ends, the best first; hopeless ones are left out. Ends come from a simulation with the
/// problem's arrivals; where that takes too many steps, fewer ranks are simulated (choose/fewer.hpp). The ends of
/// candidates without an algorithm are used as given. Of candidates that end nearly as soon as the soonest, the first
/// is the one that depends least on what models leave out: messages that wait, then partners, then messages.
/// `chunk`: bytes of the vector, or of each rank's chunk. `inside`: what messages within the problem's hosts cost, of
/// the same kind; null: as much as other messages. `cables`: simulates in place of the model alone; what would take it
/// too many steps is left out.
RUBATO_API std::vector<candidate> choose(const problem& p, std::int64_t chunk, const model& m,
                                         std::vector<candidate> among, const model* inside = nullptr,
                                         const end_on_cables& cables = {});

/// Choices already made. Similar problems become equal before one is made: sizes are rounded down to two binary digits,
/// arrivals to half of the time that a message of that size takes, or to an eighth of their spread. The choice of an
/// operation is kept while no arrival moves by more than a quarter of the time that it takes after the last arrival.
/// Where arrivals keep moving by more, a new one is made after 1, 2, 4, 8, 16, 16, ... moves, four times as soon if
/// their spread has become twice or half of what it was. So a choice depends on the problems and on their order: ranks
/// that are given the same problems choose the same, and giving one twice changes nothing.
class RUBATO_API chooser {
public:
    /// `inside`: what messages within a host cost; without it hosts do not count. Throws if it is of another kind.
    chooser(model m, bool early, std::optional<model> inside = std::nullopt);

    /// The best algorithm, or null if none can solve the problem. Sets its segments, radix and round time.
    const algorithm* best(problem& p, std::int64_t chunk);
    /// How many choices were made.
    std::size_t choices() const { return choices_; }
    bool knows_hosts() const { return inside_.has_value(); }

private:
    using key = std::vector<std::int64_t>;
    struct choice {
        const algorithm* use = nullptr;
        std::int64_t segment = 0;
        std::int32_t radix = 0;
        time_ns tail{};  ///< as predicted
    };
    /// What was last chosen for an operation.
    struct habit {
        std::vector<time_ns> chosen_by{};
        std::vector<time_ns> seen{};
        choice chosen{};
        int moves = 0;     ///< since then
        int patience = 1;  ///< moves until a new choice
    };

    static bool differs(const habit& h, const std::vector<time_ns>& arrivals);
    const choice& kept(const key& operation, const problem& p, std::int64_t size);
    const choice& chosen(key problem_key, const problem& p, std::int64_t size);

    model model_;
    std::optional<model> inside_;
    bool early_;
    std::size_t choices_ = 0;
    std::map<key, habit> habits_{};  // by all but arrivals
    std::map<key, choice> made_{};   // by all
};

}  // namespace rubato
