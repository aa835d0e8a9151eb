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
#pragma once

#include "rubato/problem.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rubato::clairvoyant {

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

}  // namespace rubato::clairvoyant
