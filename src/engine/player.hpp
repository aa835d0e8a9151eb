// One rank's side of the collectives on one communicator: it numbers them, agrees with the others on who will be late,
// and begins what was named or announced before the rank arrives. It knows nothing of MPI; a stage gives it memory and
// messages.
//
// All ranks must use the same plan, so a plan follows from what is equal on all of them: the intent of the call, and
// what they have exchanged.
//
// - An exchange gathers one number from every rank: when it arrived, or expects to arrive, at some invocation. Those of
//   invocations up to k - 2 are used for the plan of invocation k, all of them; a rank waits for one that is missing.
//   Later ones are not used, even if they are there.
// - Whether invocation k exchanges follows from its intent and from how often the operation was called.
// - If in the last exchange in use every rank had said beforehand when it would arrive (edge), every invocation
//   exchanges before it is planned, and its plan uses its own exchange: a rank contributes when it calls edge() or, if
//   it does not, when it arrives.
//
// A rank that begins before it arrives changes nothing for the others: the messages are the same.
#pragma once

#include "arrival/operation.hpp"
#include "arrival/predictor.hpp"
#include "engine/background_thread.hpp"
#include "engine/engine.hpp"
#include "engine/plan_cache.hpp"

#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace rubato {

/// An invocation as it is known before the rank's buffers are.
struct RUBATO_API intent {
    const algorithm* use = nullptr;
    problem what{};            ///< no arrivals: plan by those agreed on
    std::int64_t bytes = 0;    ///< of a chunk; if chunks differ, of this rank's, or unknown
    std::int32_t type = -1;    ///< number of a predefined datatype, for combining early
    std::int32_t op = -1;      ///< number of a predefined operator
    bool observed = false;     ///< arrivals are exchanged and predicted even if its algorithm does not use them
    bool called_roll = false;  ///< its arrivals come from a roll call: exchanged even so, to know who comes first

    static constexpr std::int64_t unknown = -1;

    /// Calls of the same kind; equal on all ranks.
    operation kind() const;
};

/// Where a player's operations run. Errors are thrown.
class stage {
public:
    virtual ~stage() = default;

    /// Memory and messages for operation `number` before the rank has arrived. False if impossible: it is too large, or
    /// its operator is not known here.
    virtual bool prepare_early(const intent& what, const plan& p, std::uint64_t number) = 0;
    /// The rank has arrived; `call` is the argument of player::arrive. `entry` may keep what was computed about the
    /// plan. `begun`: after prepare_early, perhaps for another length, if another rank announced a different one.
    virtual void prepare(const void* call, plan_cache::entry& entry, std::uint64_t number, bool begun) = 0;
    virtual const layout& sizes() const = 0;
    virtual const memory& where() const = 0;
    virtual transport& messages() = 0;
    /// Gives the rank its result.
    virtual void finish() = 0;
    /// After a failure: the rank's buffers are not written any more.
    virtual void abandon() noexcept = 0;

    /// Gathers a number from every rank; called in the same order by all.
    virtual void exchange(std::int64_t mine) = 0;
    /// The oldest exchange that was not returned yet; false if it is not complete. With `wait`, waits for it.
    virtual bool exchanged(std::vector<std::int64_t>& all, bool wait) = 0;

    /// Sends `told` to another rank, which may already have passed that invocation.
    virtual void tell(rank to, std::vector<std::int64_t> told) = 0;
    virtual bool hear(std::vector<std::int64_t>& told) = 0;
    /// For chunks whose sizes differ between ranks: the size on `other`, for the announcement to it.
    virtual std::int64_t bytes_on(rank other) const = 0;
};

class RUBATO_API player {
public:
    struct settings {
        plan_cache::settings plans{};
        std::string predictor = "average:window=5";
        std::int32_t exchange_every = 8;  ///< invocations of an operation
        /// Operations of fewer bytes are not announced, and arrivals are not exchanged for them unless all ranks say
        /// beforehand when they will arrive. V-forms, whose sizes differ, count as large.
        std::int64_t from_bytes = std::int64_t{4} << 10;
    };
    /// Settings must be equal on all ranks. All times are on a clock that they share.
    player(rank me, std::int32_t ranks, stage& s, settings how);

    /// The next invocation will be this one; it may begin before the rank arrives. After a different invocation, which
    /// is an error, the player cannot be used any more.
    void expect(const intent& what);
    /// The rank will arrive at the next invocation at that time.
    void edge(time_ns arrival);
    /// The rank has arrived at `now`. Throws if the call is refused; the invocation is still counted.
    void arrive(const intent& what, const void* call, time_ns now);
    /// Makes progress, with `wait` to the end; true if the rank has no invocation under way.
    bool progress(bool wait);
    /// The same for a rank that has not arrived: takes announcements, begins early, makes progress.
    activity poll();
    /// The rank has arrived at an invocation that the player does not run: counts it and returns its number.
    std::uint64_t pass(time_ns now);
    /// Whether all is known that the next invocation may be planned by; with `wait`, it is.
    bool catch_up(bool wait);
    /// Who came first in the last exchange by which the next invocation may be planned, rank 0 before there is one.
    /// Equal on all ranks once they have caught up.
    rank first_to_come() const { return first_to_come_; }
    /// Nothing can be done on this communicator any more.
    void fail() noexcept;
    /// The rank makes no more calls: contributes to exchanges that other ranks may wait for. False if exchanges are
    /// still under way; with `wait`, completes them. The stage cleans up invocations that began and will never end.
    bool close(bool wait, time_ns now);

    std::uint64_t number() const { return number_; }
    bool broken() const { return broken_; }
    /// How many invocations were begun before the rank arrived.
    std::uint64_t begun_early() const { return begun_early_; }
    const plan_cache& plans() const { return plans_; }
    /// The arrivals that the plan of the last ended invocation used; empty if it used none.
    std::span<const time_ns> planned_by() const { return ended_by_; }

private:
    struct record {
        std::optional<pattern_predictor> predict{};  // once something was exchanged
        std::uint64_t calls = 0;
    };
    struct gathering {
        std::uint64_t number;
        bool estimates;        // said beforehand, most of them
        record* of = nullptr;  // not known before the rank arrives
        bool complete = false;
        std::vector<std::int64_t> values{};
    };

    record& record_of(const intent& what);
    void start_exchange(time_ns arrival, bool announced);
    bool complete_until(std::uint64_t number, bool wait);
    void apply(const gathering& g);
    bool agree(bool wait);
    bool plans_by_arrivals() const;
    bool worth_messages(const intent& what) const;
    void contribute();
    problem planned(const intent& what);
    bool begin(bool wait);
    bool begin_early();
    void tell_peers(const schedule& s);
    void listen();
    void forget();
    void check_usable() const;
    const char* said_by() const;

    rank me_;
    std::int32_t ranks_;
    stage& stage_;
    settings how_;
    plan_cache plans_;
    execution execution_{};
    std::shared_ptr<plan_cache::entry> plan_{};

    std::uint64_t number_ = 0;  // of the next invocation, or of the one under way
    std::optional<intent> next_{};
    const void* call_ = nullptr;
    record* record_ = nullptr;  // of the invocation that has arrived
    time_ns arrival_{};
    bool named_ = false;  // by this rank
    bool begun_ = false;  // its messages are under way
    bool arrived_ = false;
    bool refused_ = false;  // cannot begin before the rank arrives
    bool broken_ = false;
    bool closing_ = false;
    std::string why_ = "a collective on it has failed";
    std::exception_ptr trouble_{};  // an error in poll, thrown when the rank arrives
    bool listening_ = false;
    std::uint64_t begun_early_ = 0;
    std::vector<time_ns> planned_by_{};  // what is under way
    std::vector<time_ns> ended_by_{};
    rank first_to_come_{};

    std::map<operation, record> records_{};
    std::deque<gathering> exchanges_{};        // in the order of their numbers
    bool edge_mode_ = false;                   // every invocation exchanges before it is planned
    bool contributed_ = false;                 // to the exchange of number_
    std::optional<time_ns> edge_{};            // when the rank says that it will arrive
    std::map<std::uint64_t, intent> ahead_{};  // announced, but not next yet
};

}  // namespace rubato
