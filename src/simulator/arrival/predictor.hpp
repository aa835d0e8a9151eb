// When ranks will arrive, from when they arrived before. Integer arithmetic: all ranks, on all machines, compute the
// same from the same numbers.
//
// Arrivals are predicted per operation: collective, root and size class, which all ranks know alike. The place in the
// program is not part of it, since two branches may meet in one collective. Ranks exchange arrivals on a common clock;
// from then on every rank feeds the same numbers to the same predictor and must get the same prediction, or plans would
// differ and the program would hang. So predictors compute in integers. They predict the next arrivals that will be
// exchanged, and measure their own error.
#pragma once

#include "rubato/core.hpp"
#include "rubato/problem.hpp"

#include <bit>
#include <cassert>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace rubato::simulator {

/// Stands for the arrival of a rank of which nothing is known this time.
inline constexpr time_ns no_arrival = time_ns::min();
/// The uncertainty of a prediction that has not been compared with anything yet.
inline constexpr time_ns unsure = time_ns::max();

struct prediction {
    time_ns value{};
    time_ns uncertainty = unsure;  ///< how far off the last predictions were, on average
};

/// Predicts one series of times. Times farther than `longest_time` from zero count as that.
class RUBATO_API predictor {
public:
    virtual ~predictor() = default;

    /// The next time of the series. After `no_arrival` the prediction stays what it was.
    virtual void observe(time_ns t) = 0;
    /// 0 and unsure before anything was observed.
    virtual prediction next() const = 0;
};

/// One of:
///   balanced                  always 0: all arrive together, as MPI libraries plan
///   last                      the last time
///   average:window=5          the mean of the last 5
///   exponential:weight=0.5    moves half of the way to each new time
///   trend:window=8            the straight line through the last 8, by least squares, continued
/// Predicts the time that is `ahead` (1 to 1024) after the last one observed, 1 being the next; its uncertainty is that
/// of predictions so far ahead. Throws if the text is of no such form.
RUBATO_API std::unique_ptr<predictor> make_predictor(std::string_view text, std::int32_t ahead = 1);

/// One of each kind, to compare.
RUBATO_API std::span<const std::string_view> predictors_to_try();

/// Predicts who will be how late, for all ranks of a communicator.
class RUBATO_API pattern_predictor {
public:
    /// What make_predictor takes, for each rank; or given:TRACE, which predicts the lines of a trace in turn, beginning
    /// again after the last, whatever is observed.
    pattern_predictor(std::string_view text, std::int32_t ranks, std::int32_t ahead = 1);

    /// The arrivals of one invocation on a clock that all share, one per rank, or `no_arrival`. Only the time since the
    /// earliest arrival is used.
    void observe(std::span<const time_ns> arrivals);
    /// False before anything was observed. The earliest arrives at 0, as do ranks that were never observed.
    bool next(std::vector<time_ns>& arrivals) const;
    /// Mean over the ranks whose uncertainty is known; `unsure` if there are none.
    time_ns uncertainty() const;
    /// Of the rank that is hardest to predict; `unsure` if one cannot tell yet.
    time_ns worst_uncertainty() const;

private:
    std::vector<std::unique_ptr<predictor>> ranks_{};
    std::vector<bool> observed_;
};

/// Predicts that a rank which began to compute at `start`, and at `now` has done this fraction (above 0, below 1), goes
/// on at the same speed. The uncertainty is the whole remaining time: the prediction holds as long as the rest takes at
/// most twice as long as it should.
RUBATO_API prediction edge(time_ns start, time_ns now, double done);

/// Calls whose arrivals are expected to be alike. All ranks agree on it: the place in the source is not part of it.
struct operation {
    collective what = collective::barrier;
    std::uint8_t size_class = 0;  ///< 0: no bytes; c: from 2^(c-1) to 2^c - 1 bytes
    rank root{};                  ///< 0 where there is none

    auto operator<=>(const operation&) const = default;
};

/// `bytes` as all ranks know them, not below 0.
inline operation operation_of(collective what, rank root, std::int64_t bytes) {
    assert(bytes >= 0);
    return {what, static_cast<std::uint8_t>(std::bit_width(static_cast<std::uint64_t>(bytes))), root};
}

}  // namespace rubato::simulator
