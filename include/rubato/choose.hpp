// Which algorithm suits a problem: those that can solve it are simulated under a cost model, and the best is taken.
// Everything is a function of its arguments alone, so ranks that choose by the same ones choose the same.
#pragma once

#include "rubato/algorithm.hpp"
#include "rubato/model.hpp"

#include <map>
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
/// in pieces of 4 KiB to 64 KiB, or of the problem's number if that is not 1. They plan by cautious_round_time unless
/// the problem has a round time. `early`: with early forms, which need somebody who begins before the rank comes.
RUBATO_API std::vector<candidate> candidates_for(const problem& p, std::int64_t chunk, const model& m, bool early);

/// The candidates with their ends, the best first; those that stand no chance are left out. Ends come from a simulation
/// with the problem's arrivals, where that would take too many steps of fewer ranks (see architecture.md); ends that
/// are given, of candidates without an algorithm, are believed. Of those that end nearly as soon as the soonest, the
/// first is the one that depends least on what models leave out: messages that wait, partners, messages at all.
/// `chunk`: bytes of the vector, or of each rank's chunk.
RUBATO_API std::vector<candidate> choose(const problem& p, std::int64_t chunk, const model& m,
                                         std::vector<candidate> among);

/// Choices already made. Similar problems become equal before one is made: sizes are rounded down to two binary digits,
/// arrivals to half of the time that a message of that size takes.
class RUBATO_API chooser {
public:
    chooser(model m, bool early) : model_(std::move(m)), early_(early) {}

    /// The best algorithm, or null if none can solve the problem. Sets its segments and its round time.
    const algorithm* best(problem& p, std::int64_t chunk);
    std::size_t choices() const { return made_.size(); }

private:
    using key = std::vector<std::int64_t>;
    struct choice {
        const algorithm* use;
        std::int64_t segment;
    };

    model model_;
    bool early_;
    std::map<key, choice> made_{};
};

}  // namespace rubato
