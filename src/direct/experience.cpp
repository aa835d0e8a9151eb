#include "direct/experience.hpp"

#include <algorithm>

namespace rubato {

std::optional<late_rank> latest(const experience& e) {
    const auto last = std::ranges::max_element(e.arrivals);
    if (last == e.arrivals.end() || *last == std::ranges::min(e.arrivals)) return std::nullopt;
    return late_rank{rank(static_cast<std::int32_t>(last - e.arrivals.begin())), *last - std::ranges::min(e.arrivals)};
}

}  // namespace rubato
