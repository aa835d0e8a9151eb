// Algorithms that choose while they run. Each rank is a small state machine that is told what has happened and answers
// what to do; it knows nothing of messages, memory or time. Its runner moves the notes and the data: MPI, a test, or
// record(), which runs all ranks in simulated time and returns their steps as schedules. So everything that reads
// schedules reads these algorithms too.
#pragma once

#include "rubato/problem.hpp"
#include "rubato/schedule.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace rubato {
struct algorithm;
}

namespace rubato::schedules {

/// A message of one rank to another. Notes between two ranks come in the order in which they were sent.
struct note {
    // Their meaning is up to the algorithm.
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
    /// Called on arrival, after all notes and data so far were told (so that it chooses among all possibilities), and
    /// at the time of wake_at(). `now` is this rank's own time and never goes back.
    virtual void decide(time_ns now) = 0;
    /// When to call decide() although nothing has happened, or time_ns::max().
    virtual time_ns wake_at() const = 0;
    /// Nothing more will come, and nothing is left to do except the actions already asked for.
    virtual bool done() const = 0;

    /// What to do, in this order; read after decide().
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

/// The steps that all ranks take with the problem's arrivals (all together, if it has none): data messages, and notes
/// as empty messages. A rank sends one message at a time and receives one at a time, and while it takes data it does
/// nothing else. Steps are listed in the order in which they begin, and wait for the steps that caused them. So under a
/// model in which nothing takes longer than here, the schedules take no longer than the recorded run. The algorithm
/// must be dynamic and a reduction to a root.
RUBATO_API std::vector<schedule> record(const algorithm& a, const problem& p, const pace& takes);
/// Data takes the time of a round, if the problem has one, and notes nearly nothing.
RUBATO_API std::vector<schedule> record(const algorithm& a, const problem& p);

}  // namespace rubato::schedules
