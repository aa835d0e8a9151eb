// Choices that were made before, by `rubato tune`: a file of rules says which algorithm to use.
#pragma once

#include "rubato/algorithm.hpp"
#include "rubato/model.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rubato {

/// Holds from these values on, up to those of the next rule.
struct rule {
    collective what = collective::barrier;
    std::int32_t ranks = 1;
    std::int64_t bytes = 0;              ///< of the vector, or of the buffer that has a chunk for each rank
    std::optional<time_ns> imbalance{};  ///< first to last arrival; nothing: where arrivals are not known
    const algorithm* use = nullptr;      ///< null: "native", as if there were no rule
    std::int64_t segment = 0;            ///< bytes of the pieces that a chunk is cut into; 0: it is not cut
    std::size_t line = 0;                ///< of the file

    bool operator==(const rule&) const = default;
};

class RUBATO_API rules {
public:
    /// Lines "COLLECTIVE RANKS BYTES IMBALANCE ALGORITHM [SEGMENT]", such as "reduce 16 512KiB 40ms reduce/chain 8KiB";
    /// IMBALANCE may be "any" and ALGORITHM "native". A line "model MODEL" tells how long rounds take, for algorithms
    /// that plan in rounds. `file` is its name in errors. Throws, with the line and the reason, if one is wrong.
    static rules parse(std::string_view text, const std::string& file);
    static rules read(const std::string& file);

    rules() = default;
    explicit rules(std::vector<rule> all, std::optional<model> network);

    /// The rule for a problem whose chunks have so many bytes: of the rules of its collective those with most ranks
    /// that it has, of these the ones with most bytes, of these the one with the largest imbalance that is not above
    /// its own, or else the one for any. A problem without arrivals gets only the latter. Null if there is none, or if
    /// its algorithm cannot solve the problem.
    const rule* find(const problem& p, std::int64_t chunk) const;
    /// Sets the segments and the round time with which that algorithm solves the problem.
    void prepare(const rule& r, problem& p, std::int64_t chunk) const;
    /// Whether there is a rule for a collective that names an algorithm.
    bool concern(collective what) const;

    const std::vector<rule>& all() const { return all_; }
    const std::optional<model>& network() const { return network_; }

private:
    std::vector<rule> all_{};  // in the order of their values
    std::optional<model> network_{};
};

/// What to tell a user of the rules, a sentence for each algorithm of which there is something to say (see caution).
RUBATO_API std::vector<std::string> cautions(const rules& r);

/// In the form that rules::parse reads.
RUBATO_API std::string to_string(const rules& r);

}  // namespace rubato
