// What `rubato tune` computes: for each problem the way that is best whatever the arrivals are. Its regret under a
// pattern of arrivals is the time that it loses to the best way for that pattern, as a share of the shortest call.
#pragma once

#include "rubato/tuned_rules.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::reports {

/// One way to make a call.
struct way {
    const algorithm* use = nullptr;  ///< null: by the MPI library as it is
    std::int64_t segment = 0;        ///< bytes of the pieces that a chunk is cut into; 0: it is not cut

    bool operator==(const way&) const = default;
};
/// "reduce/chain@8KiB", "native"
std::string to_string(const way& w);

struct timed_way {
    way how{};
    std::vector<time_ns> run_times{};  ///< first arrival to last exit, under each pattern
};

struct timed_problem {
    collective what = collective::barrier;
    std::int32_t ranks = 1;
    std::int64_t bytes = 0;             ///< of the vector, or of the buffer that has a chunk for each rank
    std::vector<time_ns> imbalances{};  ///< first to last arrival, of each pattern
    std::vector<timed_way> ways{};
    std::optional<way> otherwise{};  ///< what happens without a rule, if that is one of the ways

    const timed_way* find(const way& w) const;
    /// The shortest run time under any pattern.
    time_ns shortest() const;
};

enum class measure : std::uint8_t { worst, mean };

struct regret {
    double worst = 0;
    double mean = 0;

    double by(measure m) const { return m == measure::worst ? worst : mean; }
};

struct demands {
    measure by = measure::worst;
    /// What is done otherwise is kept unless its regret is larger by this.
    double margin = 0.1;
    /// What is done otherwise may be kept only if it is known.
    bool keeps_unknown = false;
};

/// The way for some of a problem's patterns.
struct pick {
    way use{};
    regret expected{};
    std::optional<regret> of_otherwise{};
};

/// The regret of a way under these patterns (numbers into imbalances).
regret regret_of(const timed_problem& p, const timed_way& w, const std::vector<std::size_t>& patterns);
/// The way with the least regret. If it is known what happens otherwise, only a way that takes longer under no pattern,
/// by more than 1 %, and is better by the margin; nothing if there is none.
std::optional<pick> best(const timed_problem& p, const std::vector<std::size_t>& patterns, const demands& d);

/// What was decided for a problem.
struct decided {
    const timed_problem* of = nullptr;
    std::optional<pick> any{};  ///< for all patterns; nothing: leave it
    /// For patterns whose imbalance is at least this; only where it differs from the choice for all.
    struct by_imbalance {
        time_ns from{};
        pick chosen{};
    };
    std::vector<by_imbalance> classes{};
};
decided decide(const timed_problem& p, const demands& d);

/// From how many bytes on the choice for each of these sizes holds: halfway, as a ratio, to the next smaller one. The
/// first holds from itself on.
std::vector<std::int64_t> boundaries(const std::vector<std::int64_t>& sizes);

/// Decided problems by collective and ranks: from how many bytes on which way is used, null where the library is left
/// alone. Equal neighbours are one.
struct size_rules {
    collective what = collective::barrier;
    std::int32_t ranks = 1;
    struct one {
        std::int64_t from = 0;
        std::optional<way> use{};
    };
    std::vector<one> sizes{};  ///< the first is from 0 on
};
std::vector<size_rules> by_size(std::span<const decided> all);
/// As Rubato's own rules, for each class of imbalance and for any. Decided problems are in the order of collectives,
/// ranks and sizes.
rules own_rules(std::span<const decided> all, std::optional<model> network);

// As text, to be sent from rank to rank.
std::string as_text(const timed_problem& p);
timed_problem from_text(std::string_view text);

/// Cuts off what comes before the separator, or all.
std::string_view take(std::string_view& from, std::string_view separator);

}  // namespace rubato::reports
