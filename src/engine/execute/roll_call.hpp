// Roll call: who is there is seen, not predicted. Each rank that comes to a collective says so to a keeper, a rank that
// all know beforehand. When nobody has come for a while the keeper tells everybody who is there, and how the call is
// made: the verdict. No MPI and no clock: messages go through a post, and the time is passed in.
//
// - One keeper per invocation, the same on all ranks. Nobody takes over from it.
// - Every rank says once that it is here, and gets one verdict. So each message is known by the number of its
//   invocation: one that comes too late is dropped by it, and one that comes too soon waits for its turn.
// - How long to wait is the keeper's business alone: until nobody came for `patience`, at most four times as long since
//   the keeper came.
//
// One algorithm is chosen, whoever is late: the choice for one late rank is the best for two to eight in an allreduce,
// and within 8 % of it in a reduce. If arrivals repeat, predict; if not and few ranks are late, call the roll.
#pragma once

#include "engine/execute/stage.hpp"
#include "rubato/problem.hpp"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace rubato::engine {

class RUBATO_API roll_call {
public:
    /// Small messages, in order between any two ranks.
    class post {
    public:
        virtual ~post() = default;
        /// Does not wait for anybody.
        virtual void send(rank to, std::vector<std::int64_t> text) = 0;
        /// False if there is nothing.
        virtual bool receive(rank& from, std::vector<std::int64_t>& text) = 0;
    };

    /// What a rank calls, as far as all ranks must call the same.
    struct called {
        collective what = collective::barrier;
        rank root{};
        std::int64_t bytes = unknown;  ///< of a chunk
        bool refused = false;          ///< this rank cannot make the call: its arguments are wrong

        static constexpr std::int64_t unknown = -1;
    };

    /// How a call is made.
    struct order {
        std::int64_t algorithm = native;  ///< its number in algorithms()
        std::uint32_t segments = 1;
        time_ns round_time{};
        time_ns lateness{};  ///< for the plan: of who is not here

        static constexpr std::int64_t native = -1;  ///< the MPI library's own collective
        bool operator==(const order&) const = default;
    };

    struct RUBATO_API verdict {
        std::uint64_t number = 0;
        order how{};
        std::vector<rank> late{};

        bool is_native() const { return how.algorithm == order::native; }
        /// For problem::arrivals.
        std::vector<time_ns> arrivals(std::int32_t ranks) const;
        bool operator==(const verdict&) const = default;
    };

    using decision = std::function<order(std::span<const rank> late)>;

    struct invocation {
        std::uint64_t number = 0;  ///< above that of the one before
        rank keeper{};
        called what{};
        time_ns patience{};
        /// Asked on the keeper alone. If it throws, the verdict is native.
        decision decide{};
        /// What `decide` gives whoever is late, if that is so: then a keeper that is late can be answered for.
        std::optional<order> in_any_case{};
    };

    roll_call(rank me, std::int32_t ranks, post& p) : me_(me), ranks_(ranks), post_(p) {}

    /// The rank is there. One invocation at a time.
    void begin(invocation i, time_ns now);
    /// The verdict, once it is there; then the invocation is over. Throws if ranks have called different collectives,
    /// which ends it as well.
    std::optional<verdict> progress(time_ns now);
    bool under_way() const { return now_at_.has_value(); }
    /// This rank is not there, and `number` comes next: if it is the keeper, gives the verdict in its place as soon as
    /// those who are there say enough for that. True while somebody waits.
    bool stand_in(std::uint64_t number, time_ns now);
    /// There will be no more invocations: receives what came too late. False if some of it is still on its way.
    bool close();

private:
    /// Of one invocation, at its keeper.
    struct roster {
        std::vector<std::pair<rank, called>> here{};
        time_ns first{};
        time_ns last{};
        time_ns patience{};
        std::optional<order> in_any_case{};
    };
    struct received_verdict {
        verdict said{};
        called what{};              // as the keeper calls it
        std::optional<rank> odd{};  // calls something else
        called instead{};
    };

    void receive_all(time_ns now);
    void note_here(rank from, std::span<const std::int64_t> text, time_ns now);
    void keep(time_ns now);
    void announce(const roster& r, const called& as, bool keeper_is_late, const decision& decide);
    verdict take(const received_verdict& v);
    void forget_before(std::uint64_t number);

    rank me_;
    std::int32_t ranks_;
    post& post_;
    std::optional<invocation> now_at_{};
    time_ns came_{};
    std::uint64_t next_ = 0;       // what is before is over
    std::int64_t on_the_way_ = 0;  // to this keeper, of invocations that it has kept
    std::map<std::uint64_t, roster> rosters_{};
    std::map<std::uint64_t, received_verdict> verdicts_{};
};

/// For the plan, how late somebody is who is not there: long enough that all others are done among themselves first.
/// Algorithms that know no round time use the order alone.
RUBATO_API time_ns lateness_in(const problem& p);

/// How the call is made whoever is late. `quantum`: to which arrivals are rounded.
RUBATO_API roll_call::order order_for(const intent& what, time_ns quantum);

/// The call, planned by who is there.
RUBATO_API intent made_by(const roll_call::verdict& said, intent what);

}  // namespace rubato::engine
