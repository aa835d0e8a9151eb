// Which algorithm suits an operation that a program calls again and again.
//
// The plan with the shortest tail may be the worst for the program: it couples all ranks in every call, so that the
// program takes the sum of the longest delays. Where a rank may leave as soon as its own part is done, delays of
// different ranks in different calls overlap, and the program takes the longest sum of one rank's delays. So the calls
// are played one after the other, with the times that ranks compute between them. What a plan does to lateness is its
// response (response.hpp), so a call is played in microseconds.
//
// What counts is the time that a call loses: how much longer the program takes for it than if messages took no time.
// Where all wait for all it is the tail.
#pragma once

#include "rubato/choose.hpp"

#include <span>
#include <vector>

namespace rubato::simulator {

/// What comes after a call.
struct call_gap {
    /// How long each rank takes from leaving it to the next one; if ranks meet, from when the last one left.
    std::vector<time_ns> computing{};
    bool meets = false;  ///< all ranks wait for each other before the next one
};

/// Calls of one operation in a row, as a program makes them.
struct call_loop {
    std::vector<call_gap> gaps{};  ///< at least one
    bool foreseen = true;          ///< the ranks that were late will be late; else these, or others
};

/// When the last rank comes to the call after these, if messages take no time and the ranks come to the first at
/// `arrivals`. An operation whose ranks wait for all others couples them, and so does meeting.
RUBATO_API time_ns earliest_next(collective what, rank root, std::vector<time_ns> arrivals,
                                 std::span<const call_gap> gaps);

/// The candidates, all of them algorithms, whose response can be computed soon and in little memory, the best first.
/// Their ends are what each call of the loop loses, after the problem's last arrival; who plans by arrivals plans by
/// the problem's. Of near equals the first is the one that choose() takes. Ranks of the problem's hosts share their
/// links; `inside` as there.
RUBATO_API std::vector<candidate> choose_for_loop(const problem& p, std::int64_t chunk, const model& m,
                                                  std::vector<candidate> among, const call_loop& calls,
                                                  const model* inside = nullptr);

}  // namespace rubato::simulator
