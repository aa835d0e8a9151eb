// What stands behind a communicator, for those who have examined a call themselves: the drop-in, which must know what
// is called before it can say how, and LibNBC.
#pragma once

#include "engine/execute/player.hpp"
#include "engine/execute/roll_call.hpp"
#include "engine/mpi/call_facts.hpp"

#include <exception>
#include <functional>

namespace rubato::engine {

class RUBATO_API inner_communicator {
public:
    /// Is told what a call that was started has thrown; null: nothing.
    using teller = std::function<void(std::exception_ptr)>;

    explicit inner_communicator(mpi::communicator& on) : on_(*on.state_) {}

    /// The private communicator. Calls exchange arrivals on it: one that is waited for before it has ended, one that is
    /// started at any time until then. So other collectives are made on it only while nothing is under way, in the same
    /// order on all ranks.
    MPI_Comm comm() const;

    /// Throws `error` if the call cannot be made so, and something else if MPI fails: then other ranks may make the
    /// call. Not yet: if the algorithm is not for this problem (see check).
    intent intent_of(const mpi::selection& how, const call_facts& c) const;
    void run(const intent& what, const call_facts& c);
    /// Starts it; `ended` is called in any thread, when it has ended, and must not use this communicator. The facts,
    /// and what they refer to, must stay until then.
    void start(const intent& what, const call_facts& c, teller ended);
    /// Counts a call that this rank does not make here, though others may. Does not wait.
    void pass();
    /// Calls the roll for the next invocation, on all ranks, and waits for the verdict; then run (see made_by in
    /// engine/execute/roll_call.hpp) or pass is to be called. All must name the same keeper, whose order counts; if it
    /// is late, its background thread answers by the order of those who are there. `refused`: this rank cannot make the
    /// call; the verdict is native then, unless it came before. If ranks have called different collectives, throws and
    /// counts the call.
    roll_call::verdict call_roll(const call_facts& c, rank keeper, time_ns patience,
                                 const roll_call::order& in_any_case, bool refused = false);
    /// Ends the communicator without waiting for other ranks; false if something is left. All ranks call it until it is
    /// true, each when it likes, and nothing else any more. Throws if a call has failed here: others wait for that one.
    bool end();
    /// The background thread looks at this communicator from now on; false if there is none.
    bool wake();
    /// No call begins early from now on, nor has a keeper that may be late: the background thread does not look at this
    /// communicator until one does.
    void rest();

private:
    mpi::communicator::state& on_;
};

roll_call::called called_by(const call_facts& c, bool refused);

}  // namespace rubato::engine
