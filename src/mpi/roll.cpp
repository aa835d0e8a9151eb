#include "mpi/roll.hpp"

#include <fmt/format.h>

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

}  // namespace rubato::mpi
