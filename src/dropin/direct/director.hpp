// Which calls of a program run a plan of Rubato, and which the MPI library's own collective.
//
// One director per rank and communicator. All must decide the same, so decisions depend only on what is equal on all
// ranks: the calls, and the numbers that they have exchanged.
//
// What is exchanged, for sampled calls: when each rank arrived, left, and arrived at the next call, where ranks that
// come early have time. Where nobody leaves before all have come it is used one call later, else two. While a plan by
// arrivals makes calls of 64 KiB and more, all are sampled. Sizes that not all ranks know are told with each sample;
// times are scaled to the first, and a sample more than twofold off is not compared. Where most predictions were off by
// more than a quarter of the tail, plans challenge with a roll call in every call. Carrying over: what was found for
// one root or size is the first guess for others of up to four times the size; an earlier run's experience is used the
// same way, and given up if the first call is off by a factor of two. Each contender has its own predictions, as its
// calls change when ranks arrive. Arrivals at the first call are not used: making the autopilot has just brought the
// ranks together.
#pragma once

#include "dropin/direct/learned.hpp"
#include "dropin/direct/rules.hpp"
#include "rubato/choose.hpp"
#include "simulator/arrival/predictor.hpp"
#include "simulator/choose/loop_choice.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace rubato::dropin {

/// What a director needs of the other ranks. All ranks call the same members in the same order.
class RUBATO_API board {
public:
    virtual ~board() = default;

    /// Begins to gather as many bytes from every rank; does not wait. Returns a ticket for take().
    virtual std::uint64_t gather(std::span<const std::byte> mine) = 0;
    /// The same for a broadcast from one rank; `message` has the same size on all ranks.
    virtual std::uint64_t tell(rank from, std::span<const std::byte> message) = 0;
    /// The bytes of a ticket, rank by rank; waits for them.
    virtual std::vector<std::byte> take(std::uint64_t ticket) = 0;
    /// Synchronises the ranks' clocks.
    virtual void synchronise() = 0;
    /// The model of the network, which may have to be measured first.
    virtual const model& network() = 0;
    /// Of messages within a host, where ranks share one and there are several; null: nothing is known of these.
    virtual const model* inside() { return nullptr; }
    /// The model may be of an earlier run, and wrong: then it is to be measured when next needed.
    virtual void doubt_network() = 0;
    /// Any clock of this rank, to measure how long something takes.
    virtual time_ns now() = 0;
};

/// What directing has cost a process so far, on all its communicators. The directors of a process share one.
struct directing_cost {
    std::atomic<time_ns::rep> spent{0};
    std::atomic<int> free_trials{0};  ///< challenges that need not be affordable
    time_ns begin{};                  ///< on the board's clock
};

/// A call. All ranks know it alike, but for `own`. A reduction's operator commutes.
struct directed_call {
    collective what = collective::barrier;
    rank root{};
    std::int64_t bytes = 0;  ///< of the vector or of a chunk; where chunks differ, their mean; 0: not all ranks know
    std::int64_t own = 0;    ///< of this rank's largest buffer, which others do not know
    /// How often all its ranks have met so far, in blocking calls that nobody leaves before all have come.
    std::uint64_t meetings = 0;

    simulator::operation kind() const { return simulator::operation_of(what, root, bytes); }
};

/// To be completed: a decision at a call of that number.
decision decision_at(const directed_call& c, std::int32_t ranks, std::uint64_t call);

/// A call that the native collective made before there was a director.
struct seen_call {
    directed_call what{};
    time_ns arrival{};              ///< on the clock that ranks share
    std::optional<time_ns> exit{};  ///< none if it failed here
};

/// How to make a call.
struct directive {
    const algorithm* use = nullptr;  ///< null: by the native collective
    std::uint32_t segments = 1;
    time_ns round_time{};
    std::vector<time_ns> arrivals{};  ///< to plan by; empty: the communicator predicts them if needed
    /// Roll is called: who is there is seen, instead of predicted. All ranks know the keeper.
    struct roll {
        rank keeper{};
        time_ns patience{};

        bool operator==(const roll&) const = default;
    };
    std::optional<roll> roll_call{};

    /// The background thread works for ranks that have not arrived: begins the call, or answers for the keeper.
    bool works_ahead() const { return use != nullptr && (use->early || roll_call); }
};

/// Tells one rank how to make the calls on one communicator; all ranks are told the same.
class RUBATO_API guide {
public:
    /// Takes a decision; equal on all ranks.
    using explainer = std::function<void(const decision&)>;

    virtual ~guide() = default;

    /// The rank arrived at a call at `now`, on the clock that ranks share. The result is valid until it leaves.
    virtual const directive& arrive(const directed_call& c, time_ns now) = 0;
    virtual void leave(time_ns now) = 0;
    /// Instead of leave: the call has failed here. Nothing is learned from it.
    virtual void failed() = 0;
    /// The directive cannot be used for this call, on any rank; the native collective made the call.
    virtual void refused(std::string_view reason) = 0;
};

/// Mode auto: measures the native collective and plans that are predicted to be better.
class RUBATO_API director final : public guide {
public:
    /// Candidates for a problem with that many bytes per chunk, the best first: for the calls of a loop, if one is
    /// given, else for one call.
    using choice =
        std::function<std::vector<candidate>(const problem&, std::int64_t bytes, const simulator::call_loop*)>;
    struct settings {
        rank me{};
        std::int32_t ranks = 1;
        prudence careful{};
        /// Messages cross a network, and a model of it can be trusted. Else there is little to win: a plan must be
        /// affordable, however good it is predicted to be, and only the time in calls counts as run time.
        bool between_hosts = true;
        time_ns in_calls{};                         ///< this rank's, before there was a director
        bool early = false;                         ///< early forms may be chosen
        directing_cost* process = nullptr;          ///< of this rank's; null: there is no other director
        std::shared_ptr<const graph> neighbours{};  ///< for neighbour collectives
        /// The host of each rank, where some share one and there are several; else empty.
        std::vector<std::int32_t> shared{};
        std::vector<experience> remembered{};  ///< of an earlier run; equal on all ranks
        choice choose{};                       ///< if none is given, by simulation on the board's network
        std::vector<seen_call> seen{};         ///< the last of each operation; of the same calls on all ranks
        /// When this rank came to the first call, if ranks have met since, to make their directors.
        std::optional<time_ns> came{};
    };

    director(settings how, board& others, explainer explain);
    ~director() override;

    const directive& arrive(const directed_call& c, time_ns now) override;
    void leave(time_ns now) override;
    void failed() override;
    void refused(std::string_view reason) override;
    /// What a later run may begin with; equal on all ranks.
    std::vector<experience> learned() const;
    /// Whether the last call of any operation did.
    bool works_ahead() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace rubato::dropin
