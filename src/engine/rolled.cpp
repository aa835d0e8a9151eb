#include "engine/rolled.hpp"

#include "rubato/algorithm.hpp"

#include <algorithm>

namespace rubato {

roll_call::order order_for(const intent& what, time_ns quantum) {
    return {what.use - algorithms().data(), what.what.segments, what.what.round_time,
            std::max(lateness_in(what.what), std::min(quantum, longest_time / 2))};
}

intent made_by(const roll_call::verdict& said, intent what) {
    what.use = &algorithms()[static_cast<std::size_t>(said.how.algorithm)];
    what.what.segments = said.how.segments;
    what.what.round_time = said.how.round_time;
    what.what.arrivals = said.arrivals(what.what.ranks);
    what.called_roll = true;
    return what;
}

}  // namespace rubato
