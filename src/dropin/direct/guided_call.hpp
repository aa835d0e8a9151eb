// A rank makes a call as its guide says: by a plan, with a roll call or without, or by the native collective. No MPI
// here: who makes the calls is behind an interface, on MPI (dropin/preload/autopilot.cpp) or in memory (tests).
#pragma once

#include "dropin/direct/director.hpp"
#include "engine/execute/roll_call.hpp"
#include "rubato/algorithm.hpp"

#include <optional>
#include <utility>

namespace rubato::dropin {

/// One call of one rank, and what can make it.
class RUBATO_API guided_call {
public:
    virtual ~guided_call() = default;

    /// On the clock that ranks share.
    virtual time_ns now() = 0;
    /// The call made so. Throws `error` if it cannot be.
    virtual engine::intent intent_of(const directive& how) = 0;
    /// An argument is wrong on this rank; others may find nothing wrong.
    virtual bool is_wrong() const = 0;
    /// Waits for the verdict; then run or pass follows. `refused`: this rank cannot make the call by a plan.
    /// The keeper orders the same whoever is late.
    virtual engine::roll_call::verdict call_roll(const directive::roll& by, const engine::roll_call::order& in_any_case,
                                                 bool refused) = 0;
    /// These return an error code, 0 if there is none.
    virtual int run(const engine::intent& what) = 0;
    virtual int native() = 0;
    /// Counts a call that this rank does not make by a plan, though others may.
    virtual void pass() = 0;
};

/// The call as the directive says, which names an algorithm. Nothing if this cannot solve the problem, which is so on
/// all ranks, or if this rank's arguments are wrong: then the native call reports them as usual, while ranks with right
/// arguments make the call.
inline std::optional<engine::intent> planned(guide& by, const directive& how, guided_call& c) {
    engine::intent known;
    bool refused = false;
    try {
        known = c.intent_of(how);
        check(*known.use, known.what);
    } catch (const error& e) {
        if (!c.is_wrong()) by.refused(e.what());
        refused = true;
    }
    if (how.roll_call) {
        const engine::roll_call::order in_any_case =
            refused ? engine::roll_call::order{} : engine::order_for(known, {});
        const engine::roll_call::verdict said = c.call_roll(*how.roll_call, in_any_case, refused);
        refused |= said.is_native();
        if (!refused) known = engine::made_by(said, std::move(known));
    }
    return refused ? std::nullopt : std::optional(std::move(known));
}

/// Makes the call and tells the guide how it went. Returns the error code. What is thrown concerns this rank alone.
inline int make_call(guide& by, const directed_call& known, guided_call& c) {
    const directive& how = by.arrive(known, c.now());
    const std::optional<engine::intent> plan = how.use != nullptr ? planned(by, how, c) : std::nullopt;
    if (how.use != nullptr && !plan) c.pass();
    const int code = plan ? c.run(*plan) : c.native();
    if (code == 0)
        by.leave(c.now());
    else
        by.failed();
    return code;
}

}  // namespace rubato::dropin
