// Plans already made. Programs call the same collectives with nearly the same arrivals over and over; a plan that is
// found again costs a lookup.
//
// Plans by the rounded problem: arrivals are counted from the earliest and rounded to half a round, and the plan is
// made from the rounded problem, so that ranks which saw different problems first still have equal plans.
#pragma once

#include "engine/execute/engine.hpp"
#include "rubato/algorithm.hpp"

#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

namespace rubato::engine {

/// The problem that the plan is made for: arrivals are counted from the earliest and rounded to multiples of `quantum`;
/// for an algorithm that uses no round time, only their order is kept. Parameters that the algorithm does not use are
/// left out. So similar problems become equal, in the same way on all ranks.
RUBATO_API problem rounded(const algorithm& a, problem p, time_ns quantum);

/// The last used plans of one rank. Every plan is made from the rounded problem, so that it does not depend on
/// which of several similar problems came first. Not for several threads at once.
class RUBATO_API plan_cache {
public:
    struct settings {
        std::size_t most_bytes = std::size_t{64} << 20;  ///< of plans; the one just used stays in any case
        time_ns quantum{};                               ///< 0: half of the round time
        std::vector<std::int32_t> places{};              ///< of ranks, in every problem
    };
    struct statistics {
        std::uint64_t hits = 0;
        std::uint64_t misses = 0;
        std::size_t plans = 0;
        std::size_t bytes = 0;
    };
    struct entry {
        plan steps;
        std::optional<bool> safe_in_place{};  ///< set by the caller that computes it
    };

    explicit plan_cache(rank me) : plan_cache(me, settings{}) {}
    plan_cache(rank me, settings how) : me_(me), how_(std::move(how)) {}

    /// Throws, and keeps nothing, if the algorithm cannot solve the problem. The plan lives as long as it is held.
    std::shared_ptr<entry> get(const algorithm& a, const problem& p);
    statistics counted() const;

private:
    struct key {
        const algorithm* use;
        problem what;

        bool operator==(const key&) const = default;
    };
    struct hash {
        std::size_t operator()(const key& k) const;
    };
    struct place {
        std::shared_ptr<entry> made;
        std::size_t bytes;
        std::list<const key*>::iterator used;
    };

    rank me_;
    settings how_;
    std::unordered_map<key, place, hash> plans_{};
    std::list<const key*> used_{};  // last one first
    statistics counted_{};
};

}  // namespace rubato::engine
