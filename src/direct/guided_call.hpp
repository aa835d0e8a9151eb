// A rank makes a call as its guide says: by a plan, with a roll call or without, or by the native collective. No MPI
// here: who makes the calls is behind an interface, on MPI (preload/autopilot.cpp) or in memory (tests).
#pragma once

#include "direct/director.hpp"
#include "engine/rolled.hpp"

namespace rubato {

/// One call of one rank, and what can make it.
class RUBATO_API guided_call {
public:
    virtual ~guided_call() = default;

    /// On the clock that ranks share.
    virtual time_ns now() = 0;
    /// The call made so. Throws `error` if it cannot be.
    virtual intent intent_of(const directive& how) = 0;
    /// An argument is wrong on this rank; others may find nothing wrong.
    virtual bool is_wrong() const = 0;
    /// Waits for the verdict; then run or pass follows. `refused`: this rank cannot make the call by a plan.
    /// The keeper orders the same whoever is late.
    virtual roll_call::verdict call_roll(const directive::roll& by, const roll_call::order& in_any_case,
                                         bool refused) = 0;
    /// These return an error code, 0 if there is none.
    virtual int run(const intent& what) = 0;
    virtual int native() = 0;
    /// Counts a call that this rank does not make by a plan, though others may.
    virtual void pass() = 0;
};

/// Makes the call and tells the guide how it went. Returns the error code. What is thrown concerns this rank alone.
RUBATO_API int make_call(guide& by, const directed_call& known, guided_call& c);

}  // namespace rubato
