// What a player needs of its surroundings: memory, messages, exchanges and announcements.
#pragma once

#include "engine/execute/engine.hpp"
#include "engine/execute/plan_cache.hpp"
#include "simulator/arrival/predictor.hpp"

#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace rubato::engine {

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
    simulator::operation kind() const;
};

/// How one rank tells another of an invocation: everything that determines its plan, and no handle. `bytes` as the
/// other rank has them.
std::vector<std::int64_t> announcement(std::uint64_t number, const intent& i, std::int64_t bytes);
/// The number and the intent.
std::pair<std::uint64_t, intent> announced(std::span<const std::int64_t> text, std::int32_t ranks);

/// A run of an algorithm that chooses while it runs.
class improvisation {
public:
    virtual ~improvisation() = default;
    /// Makes progress without waiting; true when all is done.
    virtual bool progress() = 0;
};

/// Memory and messages of a queued call; of one after the other. Errors are thrown.
class call_resources {
public:
    virtual ~call_resources() = default;

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

    virtual std::unique_ptr<call_resources> make_resources() = 0;
    /// Looks for messages of all calls; with `wait`, until there is one, but not forever.
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

}  // namespace rubato::engine
