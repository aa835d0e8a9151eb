// Algorithms that choose while they run. Each rank is a small state machine that is told what has happened and says
// what is to be done; it knows nothing of messages, memory or time. Whoever runs it moves the notes and the data: MPI,
// a test, or record(), which runs all ranks in a simulated time and gives the steps that they took as schedules. So
// whatever reads schedules reads these algorithms too.
#pragma once

#include "rubato/problem.hpp"
#include "rubato/schedule.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace rubato {

struct algorithm;

/// What one rank tells another. Notes from one rank to another come in the order in which they were sent.
struct note {
    // What they mean is the algorithm's.
    std::int32_t kind = 0;
    std::int32_t value = 0;
    std::int32_t more = 0;
};

/// What a state machine asks for.
struct action {
    enum class verb : std::uint8_t {
        tell,       ///< send the note
        hand_over,  ///< send all that this rank holds; it holds nothing then
        take,       ///< receive what the peer hands over, combine it with what this rank holds, then call taken()
    };
    verb what = verb::tell;
    rank peer{};
    note text{};
};

/// One rank of one operation. It is made when its rank arrives.
class RUBATO_API state_machine {
public:
    virtual ~state_machine() = default;

    virtual void receive(rank from, const note& text) = 0;
    /// What `from` handed over has been combined with what this rank holds.
    virtual void taken(rank from) = 0;
    /// Called on arrival, when all that has come so far was told (so that the choice is between all that there is), and
    /// when it is to be woken. Time is this rank's own and only goes on.
    virtual void decide(time_ns now) = 0;
    /// When to call decide() although nothing has happened, or time_ns::max().
    virtual time_ns wake_at() const = 0;
    /// Nothing will come any more, and nothing is to be done but the actions that are already asked for.
    virtual bool done() const = 0;

    /// What is to be done, in this order; asked for after decide().
    std::vector<action> actions() { return std::exchange(actions_, {}); }

protected:
    void tell(rank to, note text) { actions_.push_back({action::verb::tell, to, text}); }
    void hand_over(rank to) { actions_.push_back({action::verb::hand_over, to, {}}); }
    void take(rank from) { actions_.push_back({action::verb::take, from, {}}); }

private:
    std::vector<action> actions_{};
};

/// How long messages take when a run is recorded.
struct pace {
    time_ns note{1};
    time_ns data{1};
    time_ns combine{};
};

/// The steps that all ranks take if they arrive as the problem says (all together, if it does not say): those of the
/// data, and notes as empty messages. A rank sends one message at a time and receives one at a time, and while it takes
/// data it does nothing else. Steps are listed in the order in which they begin, and wait for what caused them. So
/// under a model in which nothing takes longer than here, the schedules take no longer than the run that was recorded.
/// The algorithm must be dynamic and a reduction to a root.
RUBATO_API std::vector<schedule> record(const algorithm& a, const problem& p, const pace& takes);
/// Data takes the time of a round, if the problem has one, and notes nearly nothing.
RUBATO_API std::vector<schedule> record(const algorithm& a, const problem& p);

}  // namespace rubato
