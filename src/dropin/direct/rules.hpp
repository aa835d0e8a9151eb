// The numbers by which comparisons are run, each with its reason.
#pragma once

#include "rubato/problem.hpp"

namespace rubato::dropin {

/// How mode auto guards against losses, as the user wants it.
struct prudence {
    double margin = 0.1;  ///< by how much a plan must be better to be tried, as a share of the native tail
    double spend = 0.01;  ///< share of the run time that finding out may take
};

/// What was exchanged at a call is used two calls later: by then all ranks have contributed, unless some run ahead.
constexpr std::uint64_t lag = 2;
/// More calls than that no rank is taken to be ahead of another.
constexpr std::uint64_t most_ahead = 16;
/// Calls with fewer bytes, all chunks together, are left alone: with a late rank plans take as long as they do.
constexpr std::int64_t smallest = 16 << 10;
/// Whether mode auto may make a call by a plan. `bytes`: all chunks together, where all ranks know the sizes. Elsewhere
/// the calls between hosts are directed: on one host plans do not win what asking for sizes costs.
constexpr bool auto_may_make(const collective_traits& t, std::int64_t bytes, bool between_hosts) {
    return t.sizes_known_to_all() ? bytes >= smallest : between_hosts;
}
/// Whether nobody leaves such a call before all have come, if chunks are not empty.
constexpr bool waits_for_all(const collective_traits& t) {
    if (t.what == collective::barrier) return true;
    return !t.rooted && !t.on_graph && t.input == holders::all && t.output == holders::all &&
           t.what != collective::scan && t.what != collective::exscan;
}
/// Likewise whatever the chunks are, if the call has any data.
constexpr bool is_meeting(const collective_traits& t) { return waits_for_all(t) && !t.irregular; }

/// Calls with at least as many bytes are followed while a plan by arrivals makes them: every call's arrivals are
/// exchanged, unless exchanging would take more than this share of the time.
constexpr std::int64_t followed = 64 << 10;
constexpr double follow_share = 0.01;
/// Nobody can foresee who is late where more of the last predictions were wrong. One change makes two of them wrong.
constexpr double mostly_missed = 0.6;
/// Where calling roll did not help so often, it will not.
constexpr int most_roll_calls = 3;
/// A keeper waits for others as long as this share of the tail, within these bounds.
constexpr double patience_share = 1. / 64;
constexpr time_ns least_patience = std::chrono::microseconds(50);
constexpr time_ns most_patience = std::chrono::milliseconds(10);
/// A prediction that leaves no doubt: even if it is wrong by so much, the plan is better by the margin.
constexpr double no_doubt = 1.5;
/// Likewise where arrivals are seen, and only the model may be wrong.
constexpr double no_doubt_of_seen = 1.25;
/// Likewise where the native collective shows that the model is right.
constexpr double no_doubt_of_confirmed = 1.1;
/// What is known of one size is a first guess for others, up to so many size classes away.
constexpr int nearest_classes = 2;
/// Levels that were remembered are given up where the first calls differ by more than this factor.
constexpr int stale = 2;
constexpr bool is_stale(time_ns known, time_ns now) { return now > stale * known || stale * now < known; }
/// Sizes that not all ranks know may be anything. Times of calls that differ more in size are not compared.
constexpr int alike = 2;
/// Calls in a row by which a contender is measured.
constexpr std::uint64_t block = 4;
/// Calls of a challenger before it is measured: they open connections, and show when ranks arrive under the challenger.
constexpr std::uint64_t warm_up = 3;
/// The second call shows whether it is hopeless: so many times as slow as the incumbent. The first is always slow.
constexpr std::uint64_t checked = 1;
constexpr int hopeless = 2;
/// Calls of a trial in all: the verdict takes effect only some calls later.
constexpr std::uint64_t trial_calls = warm_up + block + lag;

/// Calls from one sample to the next: while nothing changes, after an adoption or where something seems wrong, and
/// otherwise. Odd, so that samples cover both of two calls that alternate.
constexpr std::uint64_t quiet_interval = 31;
constexpr std::uint64_t watchful_interval = 3;
constexpr std::uint64_t usual_interval = 7;
/// Where exchanging costs more than this share of the time, samples are rarer, down to one in `rarest` calls.
constexpr double exchange_share = 0.005;
constexpr std::uint64_t rarest = 1023;

/// Calls whose times between them are kept, to choose plans for those to come.
constexpr std::size_t remembered_calls = 24;
/// As few are enough for the first choice.
constexpr std::size_t fewest_calls = 2;
/// Where nobody can foresee who is late, so many times as many calls make a better choice.
constexpr std::size_t known_better = 3;
/// With more ranks a choice looks at one call, not at a loop, or it would take too long.
constexpr std::int32_t most_in_loops = 64;

/// Tails below this share of the time from call to call are not worth a choice.
constexpr double worthwhile = 0.01;
/// By how much a plan may slow down the pace: Rubato's promise.
constexpr double most_slower = 0.02;
/// Challenges that need not be affordable: per operation, as many as a choice lists plans, and in all.
constexpr int free_trials = 3;
constexpr int most_free_trials = 24;
/// A plan is compared with the native collective again after so many samples, then twice as many, if affordable.
constexpr int audit_after = 8;
/// A change counts after so many samples in a row.
constexpr int believed = 2;
/// The wait doubles with each failure, at most so many times.
constexpr int most_doublings = 10;

/// Clocks are synchronised again after a second, then each time after four times as long, as their drift becomes known
/// better.
constexpr time_ns first_synchronisation = std::chrono::seconds(1);
constexpr int synchronise_rarer = 4;
constexpr time_ns last_synchronisation = std::chrono::minutes(5);

}  // namespace rubato::dropin
