#include "mpi/roll.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato::mpi {

void check_roll_call(const selection& how) {
    if (how.use == nullptr || !how.use->arrival_aware)
        throw error(
            fmt::format("a roll call for {}", how.use == nullptr ? "an algorithm that Rubato chooses" : how.use->id),
            "who is there makes no difference to its plan",
            "name an algorithm that uses arrivals ('rubato algorithms')");
    if (!how.arrivals.empty())
        throw error("a roll call and arrivals", "the roll call tells who is there", "give one of them");
    if (how.use->has(need::round_time) && how.round_time <= time_ns{})
        throw error(fmt::format("a roll call for {} without a round time", how.use->id),
                    "it plans in rounds, and must know how long they take", "give selection::round_time");
    if (how.roll_call->patience < time_ns{})
        throw error(fmt::format("a patience of {} ns", how.roll_call->patience.count()),
                    "nobody can wait for less than nothing", "give 0 or more");
}

roll_call::called called_by(const call_facts& c, bool refused) {
    return {c.what, rubato::rank(c.root), c.agreed_bytes, refused};
}

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

}  // namespace rubato::mpi
