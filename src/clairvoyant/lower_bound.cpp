// How many rounds any reduction needs at least.
//
// One segment: a process receives one partial result per round, so partial results merge in pairs, and a round leaves
// at least half of them. Counting gives the number of rounds. N segments: the root receives one per round, so one of
// them is complete at the root by N - 1 rounds before the last; until then it needed as many rounds as if it were
// alone. For equal arrivals this is ceil(log2 P) + N - 1, and it is never less than the last join + N.
//
// Cost: O(P log P). It is the optimum in all cases tried by exhaustive search.
#include "clairvoyant/join_rounds.hpp"

#include <algorithm>

namespace rubato::clairvoyant {

std::int64_t lower_bound(const instance& in, std::span<const std::int64_t> joins) {
    if (in.ranks == 1) return 0;
    std::vector<std::int64_t> sorted(joins.begin(), joins.end());
    if (!in.arrivals.empty()) std::ranges::sort(sorted);
    std::int64_t round = 0;
    std::size_t joined = 0;
    std::size_t partial_results = 0;
    while (joined < sorted.size() || partial_results > 1) {
        if (partial_results < 2 && joined < sorted.size()) round = std::max(round, sorted[joined]);
        for (; joined < sorted.size() && sorted[joined] <= round; ++joined) ++partial_results;
        if (partial_results < 2) continue;
        partial_results -= partial_results / 2;
        ++round;
    }
    return round + in.segments - 1;
}

std::int64_t lower_bound(const instance& in) {
    check(in);
    return lower_bound(in, join_rounds(in, true));
}

}  // namespace rubato::clairvoyant
