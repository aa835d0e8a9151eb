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
#include <functional>
#include <list>
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
    bool open = false;         ///< the player's `choose` says how; `use` and what follows from it do not count yet
    bool observed = false;     ///< arrivals are exchanged and predicted even if its algorithm does not use them
    bool called_roll = false;  ///< its arrivals come from a roll call: exchanged even so, to know who comes first

    static constexpr std::int64_t unknown = -1;

    /// Calls of the same kind; equal on all ranks.
    operation kind() const;
};

/// A run of an algorithm that chooses while it runs.
class improvisation {
public:
    virtual ~improvisation() = default;
    /// Makes progress without waiting; true when all is done.
    virtual bool progress() = 0;
};

/// Memory and messages of an operation; of one after the other. Errors are thrown.
class berth {
public:
    virtual ~berth() = default;

    /// For operation `number` before the rank has arrived. False if impossible: it is too large, or its operator is
    /// not known here.
    virtual bool prepare_early(const intent& what, const plan& p, std::uint64_t number) = 0;
    /// The rank has arrived; `call` is the argument of player::arrive. `entry` may keep what was computed about the
    /// plan. `begun`: after prepare_early, perhaps for another length, if another rank announced a different one.
    virtual void prepare(const void* call, plan_cache::entry& entry, std::uint64_t number, bool begun) = 0;
    /// The same for an algorithm that chooses while it runs; begins it.
    virtual std::unique_ptr<improvisation> improvise(const intent& what, const void* call, std::uint64_t number) = 0;
    virtual const layout& sizes() const = 0;
    virtual const memory& where() const = 0;
    virtual transport& messages() = 0;
    /// For chunks whose sizes differ between ranks: the size on `other`, for the announcement to it.
    virtual std::int64_t bytes_on(rank other) const = 0;
    /// Gives the rank its result. Returns what is wrong with it, if other operations can go on.
    virtual std::exception_ptr finish() = 0;
    /// After a failure: the rank's buffers are not written any more.
    virtual void abandon() noexcept = 0;
};

/// Where a player's operations run. Errors are thrown.
class stage {
public:
    virtual ~stage() = default;

    virtual std::unique_ptr<berth> open_berth() = 0;
    /// Looks for messages of all berths; with `wait`, until there is one, but not forever.
    virtual void look(bool wait) = 0;
    /// Operations from the first that has not ended to the last that has begun.
    virtual std::uint64_t most_at_once() const { return UINT64_MAX; }

    /// Gathers a number from every rank; called in the same order by all.
    virtual void exchange(std::int64_t mine) = 0;
    /// The oldest exchange that was not returned yet; false if it is not complete. With `wait`, waits for it.
    virtual bool exchanged(std::vector<std::int64_t>& all, bool wait) = 0;

    /// Sends `told` to another rank, which may already have passed that invocation.
    virtual void tell(rank to, std::vector<std::int64_t> told) = 0;
    virtual bool hear(std::vector<std::int64_t>& told) = 0;
};

class RUBATO_API player {
    struct flight;

public:
    /// An invocation that the rank has arrived at. Any number of them may be under way; they begin in their order and
    /// end in any.
    using ticket = flight*;

    struct settings {
        plan_cache::settings plans{};
        std::string predictor = "average:window=5";
        std::int32_t exchange_every = 8;  ///< invocations of an operation
        /// Operations of fewer bytes are not announced, and arrivals are not exchanged for them unless all ranks say
        /// beforehand when they will arrive. V-forms, whose sizes differ, count as large.
        std::int64_t from_bytes = std::int64_t{4} << 10;
        /// Says how to make an open invocation, from values that are equal on all ranks: the arrivals by which the last
        /// one of its kind was planned, if it was observed.
        std::function<void(intent&, std::span<const time_ns>)> choose{};
        /// Called while the rank waits: goes on with what else it has under way; false if that is nothing.
        std::function<bool()> help{};
    };
    /// Settings must be equal on all ranks. All times are on a clock that they share.
    player(rank me, std::int32_t ranks, stage& s, settings how);

    /// The next invocation will be this one; it may begin before the rank arrives. After a different invocation, which
    /// is an error, the player cannot be used any more.
    /// True if it may.
    bool expect(const intent& what);
    /// The rank will arrive at the next invocation at that time.
    void edge(time_ns arrival);
    /// The rank has arrived at `now`; `call` must live until the invocation has ended.
    ticket arrive(const intent& what, const void* call, time_ns now);
    /// Makes progress with all that is under way, with `wait` until this invocation has ended; true if it has. Throws
    /// if it was refused or has failed. In both cases its ticket is void then.
    bool progress(ticket t, bool wait);
    static bool has_ended(ticket t);
    /// Makes progress with all of them, takes announcements, begins before the rank arrives. In the background,
    /// reductions by a user's own operator are left to the rank.
    activity poll(bool in_background = true);
    /// The rank has arrived at an invocation that the player does not run: counts it, without waiting.
    void pass(time_ns now);
    /// Whether all is known that the next invocation may be planned by; with `wait`, it is.
    bool catch_up(bool wait);
    /// Who came first in the last exchange by which the next invocation may be planned, rank 0 before there is one.
    /// Equal on all ranks once they have caught up.
    rank first_to_come() const { return first_to_come_; }
    /// Nothing can be done on this communicator any more.
    void fail() noexcept;
    /// The rank makes no more calls: contributes to exchanges that other ranks may wait for. False if exchanges are
    /// still under way. The stage cleans up invocations that began and will never end.
    bool close(time_ns now);

    /// Of the invocation that the rank arrives at next.
    std::uint64_t number() const { return next_.front().number; }
    bool idle() const { return under_way_.empty(); }
    bool broken() const { return broken_; }
    /// Throws if it is broken.
    void check_usable() const;
    /// How many invocations were begun before the rank arrived.
    std::uint64_t begun_early() const { return begun_early_; }
    const plan_cache& plans() const { return plans_; }
    /// The arrivals that the plan of the last invocation used of which progress() has said that it ended; empty if it
    /// used none.
    std::span<const time_ns> planned_by() const { return ended_by_; }
    /// What made it; null before the first.
    const algorithm* last_used() const { return last_used_; }
    /// Whether poll() may find something to do before the rank arrives.
    bool listens() const { return listening_; }

private:
    struct record {
        std::optional<pattern_predictor> predict{};  // once something was exchanged
        std::uint64_t calls = 0;
        std::vector<time_ns> planned_by{};  // the last one that was observed
    };
    struct gathering {
        std::uint64_t number;
        bool estimates;        // said beforehand, most of them
        record* of = nullptr;  // not known before the rank arrives
        bool complete = false;
        std::vector<std::int64_t> values{};
    };
    using flights = std::list<flight>;
    struct flight {
        std::uint64_t number = 0;
        std::optional<intent> what{};
        const void* call = nullptr;
        record* of = nullptr;  // once the rank has arrived
        time_ns arrival{};
        std::optional<time_ns> edge{};  // when the rank says that it will arrive
        bool named = false;             // by this rank
        bool arrived = false;
        bool refused = false;      // cannot begin before the rank arrives
        bool contributed = false;  // to its exchange
        bool begun = false;        // its messages are under way
        bool ended = false;
        std::exception_ptr trouble{};
        std::shared_ptr<plan_cache::entry> plan{};
        std::vector<time_ns> planned_by{};
        std::unique_ptr<berth> where{};
        execution run{};
        std::unique_ptr<improvisation> improvised{};
        flights::iterator self{};

        /// Counted only; else what it does is known once the rank has arrived.
        bool passed() const { return arrived && !what; }
        bool needs_caller() const { return what && traits(what->what.what).reduces && what->op < 0; }
    };

    flight& next() { return next_.front(); }
    void make_next();
    record& record_of(const intent& what);
    void resolve(intent& what);
    void start_exchange(flight& f, time_ns arrival, bool announced);
    bool complete_until(std::uint64_t number, bool wait);
    void apply(const gathering& g);
    bool catch_up(const flight& f, bool wait);
    bool agree(flight& f, bool wait);
    static bool plans_by_arrivals(const flight& f);
    bool worth_messages(const intent& what) const;
    static void keep_arrivals(const flight& f);
    void contribute(flight& f);
    problem planned(flight& f);
    bool begin(flight& f, bool wait);
    bool begin_all(bool wait, bool by_caller);
    bool has_room(const flight& f) const;
    bool begin_early();
    bool advance(const flight* awaited, bool by_caller);
    bool move(flight& f, bool wait, bool alone);
    void look(bool wait);
    void depart(flight& f, time_ns now);
    void end(flight& f);
    void recycle(flight& f, flights& from);
    void retire(flight& f);
    template <class Attempt>
    bool insist(bool wait, Attempt attempt);
    bool help() const { return how_.help && how_.help(); }
    void tell_peers(const flight& f);
    void listen();
    static const char* said_by(const flight& f);

    rank me_;
    std::int32_t ranks_;
    stage& stage_;
    settings how_;
    plan_cache plans_;

    flights next_{};       // the invocation that the rank arrives at next
    flights under_way_{};  // arrived, in their order
    flights ended_{};      // nobody has asked for them yet
    flights spare_{};
    std::size_t waiting_ = 0;  // of those under way, the last, that have not begun
    bool broken_ = false;
    bool closing_ = false;
    std::string why_ = "a collective on it has failed";
    bool listening_ = false;
    std::uint64_t begun_early_ = 0;
    std::vector<time_ns> ended_by_{};
    const algorithm* last_used_ = nullptr;
    rank first_to_come_{};

    std::map<operation, record> records_{};
    std::deque<gathering> exchanges_{};        // in the order of their numbers
    bool edge_mode_ = false;                   // every invocation exchanges before it is planned
    std::map<std::uint64_t, intent> ahead_{};  // announced, but not next yet
};

}  // namespace rubato
