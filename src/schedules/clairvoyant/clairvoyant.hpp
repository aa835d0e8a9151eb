// Clairvoyant: who sends which segment to whom in which round, for known arrivals.
//
// All times are whole nanoseconds, so that every rank computes the same rounds. A process that has been in the ready
// group for k rounds is available at its arrival + k d. The group has the processes that still hold a segment and are
// available no later than d after the earliest of them, ordered by (availability, rank), the root first. In that order
// each takes the lowest segment it still holds (the first: the lowest of all) from the first in that order that holds
// it, has not sent in this round and has not received that segment in this round. While the group has only one member,
// rounds are idle. The end is when only the root holds segments.
//
// Source: Marendic et al. 2016, 5.4; Proficz & Ocetkiewicz 2020, Listing 2.
//
// Rounds: who sends which segment to whom in which round, from predicted arrivals and the time of a round. Computing
// them costs the same for one rank as for all, so the registry's rows that plan so build the schedules of several ranks
// together.
// One generator is used (production.cpp, round_state.hpp); the literature's three are in bench/generators and make the
// same rounds. What makes ours fast, largest gain first: rows of bits by segment, so that a sender is the first set
// bit; checking whether anybody can send a segment only when it is needed (counts or a tree of unions kept up to date
// cost more); members in slots that keep their order, so that rows are as short as the group; and the state of a round
// in registers. plus.cpp needs fewer rounds: the latest ranks are served first, and the root never sends. Reversed
// greedy, matching and some fifty other orders are worse.
#pragma once

#include "rubato/problem.hpp"
#include "rubato/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::schedules {

struct instance {
    std::int32_t ranks = 1;
    std::uint32_t segments = 1;
    rank root{};
    time_ns round_time{1};            ///< d: to send, receive and combine one segment
    std::vector<time_ns> arrivals{};  ///< one per rank, or empty: all together

    bool operator==(const instance&) const = default;
};

/// Throws if the numbers make no sense.
RUBATO_API void check(const instance& in);

struct transfer {
    std::int32_t to = 0;
    std::int32_t from = 0;
    std::uint32_t segment = 0;

    bool operator==(const transfer&) const = default;
};

/// A round in which something is sent: its number, and where its transfers end.
struct busy_round {
    std::int64_t number = 0;
    std::size_t end = 0;

    bool operator==(const busy_round&) const = default;
};

struct rounds {
    std::int64_t length = 0;            ///< empty rounds count
    std::vector<busy_round> busy{};     ///< by number
    std::vector<transfer> transfers{};  ///< of one round after the other, in the order in which receivers are visited

    bool operator==(const rounds&) const = default;

    std::span<const transfer> transfers_of(std::size_t busy_index) const {
        const std::size_t begin = busy_index == 0 ? 0 : busy[busy_index - 1].end;
        return std::span(transfers).subspan(begin, busy[busy_index].end - begin);
    }
};

/// The rounds of all ranks.
RUBATO_API rounds generate(const instance& in);
/// Keeps only what one rank sends and receives.
RUBATO_API rounds generate(const instance& in, rank only);

/// Mostly fewer rounds than generate() when arrivals differ; the rounds of generate() where they are not fewer.
RUBATO_API rounds generate_plus(const instance& in);
/// The rounds that generate_plus() tries: the last ranks to arrive are served first, and the root never sends. Mostly
/// fewer than those of generate(), but not always; those of generate() if it takes much more work.
RUBATO_API rounds generate_latest_first(const instance& in);
/// The least number of rounds if every rank sends at most one segment and receives at most one per round, and takes
/// part in round r only if it arrives within (r + 1) d of the earliest. From round N on the rule may count from a later
/// start: the root's availability when it joined, if the earlier ranks have left. The bound allows that too.
RUBATO_API std::int64_t lower_bound(const instance& in);

/// The first round of each rank: r such that arrival <= earliest + (r + 1) d. With drift, the first round in which the
/// rule could have it take part: from round N on, it may be a round earlier.
///
/// The rule measures from the earliest available member of its group, which changes when that member leaves. It does
/// not change before the root has joined: until then the first member is the sink, which receives in every round and so
/// never leaves. It moves no further than to the root's availability, because the root never leaves. And no member
/// leaves before it has sent N times. So the rule lets no process take part before the round given here.
std::vector<std::int64_t> join_rounds(const instance& in, bool with_drift);

/// The same as lower_bound(in); joins: join_rounds(in, true).
std::int64_t lower_bound(const instance& in, std::span<const std::int64_t> joins);

// Rounds of any origin as dataflow. Steps keep the order of the rounds, and in each round the send comes before the
// receive; the builder derives what a step waits for. No rank waits for a round to end, so a run can only be faster
// than its rounds, and wrong predictions cost time and nothing else. A rank's value of a segment is its input until it
// receives the first operand. The place of that operand, in scratch or in the root's output, then holds the partial
// result, and later operands are received elsewhere. Places are used again, but not in the round in which they became
// free: two ranks that exchange segments would wait for each other.

/// The part of a problem that its rounds depend on. Without a round time all arrive together, so any value will do.
RUBATO_API instance instance_of(const problem& p);

/// A segment that is complete at the root is passed from one rank to another, after the transfers of this round.
struct relay {
    std::int64_t round = 0;
    rank from{};
    rank to{};
    std::uint32_t segment = 0;
};

/// The schedules of some ranks, for rounds of any origin; `r` must have all transfers of these ranks. In each round a
/// rank sends at most one segment that it holds and receives at most one. Relays are in the order of rounds; they serve
/// collectives whose result is needed on other ranks than the root.
RUBATO_API std::vector<schedule> schedules_of(const problem& p, const rounds& r, std::span<const rank> who,
                                              std::span<const relay> relays = {});
/// The problem with a root that is there from the start, at least to receive.
RUBATO_API problem with_root_there(problem p);
/// Schedules in which the others finish their work for a late root before it arrives. Unless it is predicted to be
/// among the first, it keeps its own data until the end and then adds it to what it has received. It sends nothing,
/// even where the rounds, those of with_root_there, say so.
RUBATO_API std::vector<schedule> schedules_for_late_root(const problem& p, const rounds& r, std::span<const rank> who);

/// An SVG picture: what each rank holds of each segment from round to round, and who sends what to whom.
RUBATO_API std::string draw(std::string_view title, const instance& in, const rounds& r);

}  // namespace rubato::schedules
