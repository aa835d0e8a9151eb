// Which algorithm suits a problem: those that can solve it are simulated under a cost model, and the best is taken.
// Everything is a function of its arguments alone, so ranks that choose by the same ones choose the same.
#pragma once

#include "rubato/algorithm.hpp"
#include "rubato/model.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rubato {

/// One way to solve a problem.
struct RUBATO_API candidate {
    const algorithm* use = nullptr;  ///< null: somebody else's, of whom only `name` and `end` are known
    std::string name{};              ///< "reduce/chain@8KiB", "native"
    std::int64_t segment = 0;        ///< in how large pieces it cuts a chunk, in bytes; 0: it does not
    std::uint32_t segments = 1;
    time_ns round_time{};       ///< by which it plans, if it does
    time_ns end{};              ///< when the last rank leaves
    double messages = 0;        ///< that a rank sends and receives, on average
    double partners = 0;        ///< with how many others, on average
    bool waits = false;         ///< some messages are so large that they wait for their receiver (LogGP)
    bool extrapolated = false;  ///< from fewer ranks

    /// Twice as many partners are one more.
    int partner_class() const;
};

/// All algorithms of the problem's collective that can solve it, but those that choose while they run; segmenting ones
/// in pieces of 4 KiB to 64 KiB, or in that many segments, or as many as the problem has if that is not 1. They plan by
/// cautious_round_time unless the problem has a round time. `early`: with early forms, which need somebody who begins
/// before the rank comes.
RUBATO_API std::vector<candidate> candidates_for(const problem& p, std::int64_t chunk, const model& m, bool early,
                                                 std::optional<std::uint32_t> segments = std::nullopt);

/// The candidates with their ends, the best first; those that stand no chance are left out. Ends come from a simulation
/// with the problem's arrivals, where that would take too many steps of fewer ranks (see architecture.md); ends that
/// are given, of candidates without an algorithm, are believed. Of those that end nearly as soon as the soonest, the
/// first is the one that depends least on what models leave out: messages that wait, partners, messages at all.
/// `chunk`: bytes of the vector, or of each rank's chunk. `inside`: what messages within the problem's hosts cost, of
/// the same kind; null: as much as others.
RUBATO_API std::vector<candidate> choose(const problem& p, std::int64_t chunk, const model& m,
                                         std::vector<candidate> among, const model* inside = nullptr);

/// Choices already made. Similar problems become equal before one is made: sizes are rounded down to two binary digits,
/// arrivals to half of the time that a message of that size takes, or to an eighth of their spread. The choice of an
/// operation is kept while no arrival moves by more than a quarter of the time that it takes after the last arrival.
/// Where arrivals keep moving by more, it is made anew after 1, 2, 4, 8, 16, 16, ... moves, four times as soon if their
/// spread has become twice or half of what it was. So it depends on the problems in the order in which they are given:
/// ranks that are given the same ones choose the same, and giving one twice changes nothing.
class RUBATO_API chooser {
public:
    /// `inside`: what messages within a host cost; without it hosts do not count. Throws if it is of another kind.
    chooser(model m, bool early, std::optional<model> inside = std::nullopt);

    /// The best algorithm, or null if none can solve the problem. Sets its segments and its round time.
    const algorithm* best(problem& p, std::int64_t chunk);
    /// How many were made.
    std::size_t choices() const { return choices_; }
    bool knows_hosts() const { return inside_.has_value(); }

private:
    using key = std::vector<std::int64_t>;
    struct choice {
        const algorithm* use = nullptr;
        std::int64_t segment = 0;
        time_ns tail{};  ///< that was predicted
    };
    /// What was last chosen for an operation.
    struct habit {
        std::vector<time_ns> chosen_by{};
        std::vector<time_ns> seen{};
        choice chosen{};
        int moves = 0;     ///< since then
        int patience = 1;  ///< so many moves make a new choice
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
