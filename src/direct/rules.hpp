// The numbers by which contests are run, each with its reason.
#pragma once

#include "rubato/core.hpp"

namespace rubato::direct {

/// What was exchanged at a call counts two calls later, when everybody who waits for all others has been there.
constexpr std::uint64_t lag = 2;
/// Calls in a row by which a contender is measured.
constexpr std::uint64_t block = 4;
/// Calls of a challenger before it is measured: connections are opened, and it learns who comes when if it is the one
/// who makes the calls.
constexpr std::uint64_t warm_up = 3;
/// Its second call shows whether it is hopeless: so many times as slow as the incumbent. The first is slow in any case.
constexpr std::uint64_t checked = 1;
constexpr int hopeless = 2;
/// All in all, as the verdict counts only some calls later.
constexpr std::uint64_t trial = warm_up + block + lag;

/// Calls from one sample to the next: while all is quiet, after an adoption or where something seems wrong, and else.
/// Odd, so that calls which alternate between two places in the program are all seen.
constexpr std::uint64_t quiet = 31;
constexpr std::uint64_t watchful = 3;
constexpr std::uint64_t usual = 7;
/// Where exchanging costs more than this share of the time, samples are rarer, up to the second number.
constexpr double exchange_share = 0.005;
constexpr std::uint64_t rarest = 1023;

/// Tails below this share of the time from call to call are not worth a choice.
constexpr double worthwhile = 0.01;
/// What a plan may cost in pace: the promise that is made.
constexpr double most_slower = 0.02;
/// Challenges that need not be affordable: of an operation, as many as a choice promises, and of all.
constexpr int free_duels = 3;
constexpr int most_free_duels = 24;
/// A plan is compared with the native collective again after so many samples, twice as many each time, if affordable.
constexpr int audit_after = 8;
/// A change is believed when it was seen so often in a row.
constexpr int believed = 2;
/// Patience doubles with each failure, so often.
constexpr int most_doublings = 10;

/// Clocks are set by each other again after a second, and after four times as long each time, until their drift is
/// known well enough.
constexpr time_ns first_synchronisation = std::chrono::seconds(1);
constexpr int synchronise_rarer = 4;
constexpr time_ns last_synchronisation = std::chrono::minutes(5);

}  // namespace rubato::direct
