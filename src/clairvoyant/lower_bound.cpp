// How many rounds any reduction needs, whoever sends to whom.
//
// Two arguments. First, one segment: a round merges at most half of the partial results that are there, so O(P) steps
// tell how many rounds one segment takes. The root receives one segment per round, so the one it has first is complete
// N - 1 rounds before the last: rounds for N segments >= rounds for one + N - 1. For equal arrivals this is
// ceil(log2 P) + N - 1, and in general no less than the last join + N.
//
// Second, room: let R rounds be enough, and run them backwards. Then the root tells everybody N segments, a process
// that joined in round J leaves after R - J rounds, and can afford s = R - J - N rounds in which it receives nothing.
// Before backward round t <= N, when everybody is still there, it must have received at least t - s segments. Only
// those who hold something can send, so with h(u) holders in round u
//   h(t) <= 1 + sum over u < t of h(u) - sum over processes of max(0, t - s - 1),
// as only the first segment makes a process a holder; and for the processes with s < t
//   sum of (t - s) <= sum over u < t of min(h(u), how many they are).
// If this fails, R is too few.
//
// Cost: O(P log P + (P + N) (result - first bound + 1)). It is the optimum in all cases tried by exhaustive search.
#include "join_rounds.hpp"

#include <algorithm>

namespace rubato::clairvoyant {
namespace {

/// joins: by round, the root's among them.
std::int64_t rounds_of_one_segment(std::span<const std::int64_t> joins) {
    std::int64_t round = 0;
    std::size_t joined = 0;
    std::size_t partial_results = 0;
    for (;;) {
        for (; joined < joins.size() && joins[joined] <= round; ++joined) ++partial_results;
        if (partial_results > 1) {
            partial_results -= partial_results / 2;
            ++round;
        } else if (joined < joins.size()) {
            round = joins[joined];
        } else {
            return round;
        }
    }
}

class room {
public:
    /// joins: by round, without the root's.
    room(std::span<const std::int64_t> joins, std::int64_t segments) : joins_(joins), segments_(segments) {}

    bool enough(std::int64_t rounds) {
        const auto others = static_cast<std::int64_t>(joins_.size());
        holders_.assign(1, 1);
        sum_.assign(1, 0);
        std::int64_t bound = 0;   // how many have s < t
        std::int64_t needed = 0;  // the sum of their t - s
        std::size_t fewer = 0;    // in the rounds before this one there are no more holders than `bound`
        for (std::int64_t t = 1; t <= segments_; ++t) {
            sum_.push_back(sum_.back() + holders_.back());
            while (bound < others && rounds - segments_ - joins_[static_cast<std::size_t>(others - 1 - bound)] < t)
                ++bound;
            needed += bound;
            const std::int64_t most = 1 + sum_.back() - (needed - bound);
            holders_.push_back(std::max(holders_.back(), std::min(others + 1, most)));
            while (fewer < static_cast<std::size_t>(t) && holders_[fewer] <= bound) ++fewer;
            if (needed > sum_[fewer] + (t - static_cast<std::int64_t>(fewer)) * bound) return false;
            if (bound == others && holders_.back() >= others) return true;
        }
        return true;
    }

private:
    std::span<const std::int64_t> joins_;
    std::int64_t segments_;
    std::vector<std::int64_t> holders_{};  // h, at most
    std::vector<std::int64_t> sum_{};      // of h before
};

}  // namespace

std::int64_t lower_bound(const instance& in, std::span<const std::int64_t> joins) {
    if (in.ranks == 1) return 0;
    std::vector<std::int64_t> sorted(joins.begin(), joins.end());
    if (!in.arrivals.empty()) std::ranges::sort(sorted);
    const std::int64_t segments = in.segments;
    std::int64_t result = rounds_of_one_segment(sorted) + segments - 1;
    sorted.erase(std::ranges::lower_bound(sorted, joins[static_cast<std::size_t>(in.root.value)]));
    room others(sorted, segments);
    while (!others.enough(result)) ++result;
    return result;
}

std::int64_t lower_bound(const instance& in) {
    check(in);
    return lower_bound(in, join_rounds(in));
}

}  // namespace rubato::clairvoyant
