#include "clairvoyant/join_rounds.hpp"

#include <algorithm>

namespace rubato::clairvoyant {

std::vector<std::int64_t> join_rounds(const instance& in, bool with_drift) {
    std::vector<std::int64_t> joins(static_cast<std::size_t>(in.ranks));
    if (in.arrivals.empty()) return joins;
    const std::int64_t d = in.round_time.count();
    const std::int64_t earliest = std::ranges::min(in.arrivals).count();
    const auto first = [d](std::int64_t delay) { return delay <= d ? 0 : (delay - 1) / d; };
    const std::int64_t root_delay = in.arrivals[static_cast<std::size_t>(in.root.value)].count() - earliest;
    const std::int64_t drift = root_delay - first(root_delay) * d;
    const std::int64_t segments = in.segments;
    for (std::size_t i = 0; i < joins.size(); ++i) {
        const std::int64_t delay = in.arrivals[i].count() - earliest;
        joins[i] = first(delay);
        if (with_drift && joins[i] > segments) joins[i] = std::max(segments, first(delay - drift));
    }
    return joins;
}

}  // namespace rubato::clairvoyant
