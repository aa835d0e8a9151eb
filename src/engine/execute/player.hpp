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

#include "engine/execute/background_thread.hpp"
#include "engine/execute/stage.hpp"
#include "simulator/arrival/predictor.hpp"

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>

namespace rubato::engine {

/// What a player knows of all calls of one kind.
struct calls_of_a_kind {
    std::optional<simulator::pattern_predictor> predict{};  // once something was exchanged
    std::uint64_t calls = 0;
    std::vector<time_ns> planned_by{};  // the last one that was observed
};

struct queued_call {
    std::uint64_t number = 0;
    std::optional<intent> what{};
    const void* call = nullptr;
    calls_of_a_kind* of = nullptr;  // once the rank has arrived
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
    std::unique_ptr<call_resources> resources{};
    execution run{};
    std::unique_ptr<improvisation> improvised{};
    std::list<queued_call>::iterator self{};

    /// Counted only; else what it does is known once the rank has arrived.
    bool passed() const { return arrived && !what; }
    bool needs_caller() const { return what && traits(what->what.what).reduces && what->op < 0; }
};

class RUBATO_API player {
public:
    /// A call that the rank has made. Any number of them may be under way; they begin in their order and end in any.
    using ticket = queued_call*;

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
    /// The rank calls the invocation after those that it has called. It may arrive later, when it is known how the call
    /// is made; calls arrive in their order.
    ticket call(time_ns now);
    /// Of those that were called and have not arrived, the first; null if there is none.
    ticket first_called() { return coming_.size() > 1 ? &coming_.front() : nullptr; }
    /// The first called one arrives; `call` must live until the invocation has ended. progress() throws what is wrong.
    void arrive(ticket first, const intent& what, const void* call);
    /// Both at once.
    ticket arrive(const intent& what, const void* call, time_ns now);
    /// The first called one is not made by the player: counts it, without waiting. With `trouble`, progress() throws
    /// that; else the ticket is void.
    void pass(ticket first, std::exception_ptr trouble = nullptr);
    /// Makes progress with all that is under way, with `wait` until this invocation has ended; true if it has. Throws
    /// if it was refused or has failed. In both cases its ticket is void then.
    bool progress(ticket t, bool wait);
    /// A call that `wanted` accepts, those first that have ended; null if there is none.
    template <class Wanted>
    ticket find(Wanted wanted) {
        for (queue* const q : {&ended_, &under_way_, &coming_})
            for (queued_call& c : *q)
                if (wanted(c)) return &c;
        return nullptr;
    }
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
    std::uint64_t number() const { return coming_.front().number; }
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
    struct gathering {
        std::uint64_t number;
        bool estimates;                 // said beforehand, most of them
        calls_of_a_kind* of = nullptr;  // not known before the rank arrives
        bool complete = false;
        std::vector<std::int64_t> values{};
    };
    using queue = std::list<queued_call>;

    queued_call& next() { return coming_.front(); }
    void append_next();
    void take_announcement();
    calls_of_a_kind& record_of(const intent& what);
    void resolve(intent& what);
    void start_exchange(queued_call& f, time_ns arrival, bool announced);
    bool complete_until(std::uint64_t number, bool wait);
    void apply(const gathering& g);
    bool catch_up(const queued_call& f, bool wait);
    bool agree(queued_call& f, bool wait);
    static bool plans_by_arrivals(const queued_call& f);
    bool worth_messages(const intent& what) const;
    static void keep_arrivals(const queued_call& f);
    void contribute(queued_call& f);
    problem planned(queued_call& f);
    bool begin(queued_call& f, bool wait);
    bool begin_all(bool wait, bool by_caller);
    bool has_room(const queued_call& f) const;
    bool begin_early();
    bool advance(const queued_call* awaited, bool by_caller);
    bool move(queued_call& f, bool wait, bool alone);
    void look(bool wait);
    void enter(queued_call& f, const intent& said, const void* call);
    void depart(queued_call& f);
    void end(queued_call& f);
    void recycle(queued_call& f, queue& from);
    void retire(queued_call& f);
    template <class Attempt>
    bool insist(bool wait, Attempt attempt);
    bool help() const { return how_.help && how_.help(); }
    void tell_peers(const queued_call& f);
    void listen();
    static const char* said_by(const queued_call& f);

    rank me_;
    std::int32_t ranks_;
    stage& stage_;
    settings how_;
    plan_cache plans_;

    queue coming_{};     // called, in their order, and the one that the rank calls next
    queue under_way_{};  // arrived, in their order
    queue ended_{};      // nobody has asked for them yet
    queue spare_{};
    std::size_t waiting_ = 0;  // of those under way, the last, that have not begun
    bool broken_ = false;
    bool closing_ = false;
    std::string why_ = "a collective on it has failed";
    bool listening_ = false;
    std::uint64_t begun_early_ = 0;
    std::vector<time_ns> ended_by_{};
    const algorithm* last_used_ = nullptr;
    rank first_to_come_{};

    std::map<simulator::operation, calls_of_a_kind> records_{};
    std::deque<gathering> exchanges_{};        // in the order of their numbers
    bool edge_mode_ = false;                   // every invocation exchanges before it is planned
    std::map<std::uint64_t, intent> ahead_{};  // announced, but not next yet
};

}  // namespace rubato::engine
