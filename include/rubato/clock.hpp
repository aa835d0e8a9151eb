// One clock for all ranks of a communicator: rank 0's. The others know it up to a bound, by round trips along a tree
// (Hoefler 2008, IV.2.4), and know how their own clock drifts from it.
//
// The error bound is not a statistic: half of the shortest round trips on the way to rank 0, plus the elapsed time
// since then times the possible error of the drift. So a reading that is less exact than the line through earlier ones
// is ignored, and one that contradicts it shows that a clock was set, and starts a new line. Synchronisation goes from
// rank 0 down the tree: the rank that answers already knows the common time, and nothing is gathered.
#pragma once

#include "rubato/core.hpp"

#include <functional>
#include <utility>

namespace rubato {

/// Reads a rank's own clock, which must never go back.
using own_clock = std::function<time_ns()>;

/// This machine's monotonic clock, the own clock of every rank unless another is given.
RUBATO_API time_ns own_time();

/// Two clocks are taken to drift apart by no more than this before their drift was measured: IV.2.3 saw up to 300 ppm.
constexpr double max_drift = 300e-6;
/// By how much a measured drift may change afterwards: IV.2.3 found less than 1 ppm.
constexpr double drift_wander = 1e-6;
/// Own clocks tick at least this often.
constexpr time_ns own_clock_tick{50};

/// When the own clock showed `own`, the common one showed `common`, give or take `error`.
struct clock_reading {
    time_ns own{};
    time_ns common{};
    time_ns error{};
};

/// A rank's view of the common clock: a line over the time of its own clock. Reading it is cheap and allocates nothing.
/// It never goes back between synchronisations; one may set it back by about the bound. Not safe to read during one.
class RUBATO_API common_clock {
public:
    explicit common_clock(own_clock own = own_time) : own_(std::move(own)) {}

    time_ns own() const { return own_(); }
    time_ns now() const { return to_common(own_()); }
    time_ns to_common(time_ns own) const {
        const time_ns since = own - anchor_.own;
        return anchor_.common + since + time_ns(static_cast<time_ns::rep>(static_cast<double>(since.count()) * drift_));
    }

    /// How far `now()`, or `to_common(own)`, can be from rank 0's own clock. It grows with the time since the last
    /// synchronisation; before the first one it is `time_ns::max()`.
    time_ns error_bound() const { return error_bound(own_()); }
    time_ns error_bound(time_ns own) const;

    /// By how much the common clock is faster than the own one, as a share, and how wrong that may be.
    double drift() const { return drift_; }
    double drift_error() const { return drift_error_; }
    bool synchronised() const { return synchronised_; }

    /// The own clock is the common one: this is rank 0.
    void lead();
    /// Takes a reading in. One that is less exact than what is known changes nothing; one that contradicts what is
    /// known replaces it: a clock was set, or a machine slept.
    void learn(const clock_reading& seen);

private:
    void restart(const clock_reading& seen);

    own_clock own_;
    clock_reading anchor_{};  ///< the line goes through it
    double drift_ = 0;
    double drift_error_ = max_drift;
    bool synchronised_ = false;
    clock_reading oldest_{};  ///< the drift is taken from here or from `older_` to now, whichever is more exact
    clock_reading older_{};
};

/// What synchronising needs of a network: messages of one number, in order per pair of ranks.
class RUBATO_API ping_layer {
public:
    virtual ~ping_layer() = default;
    virtual void send(rank to, std::int64_t number) = 0;
    virtual std::int64_t recv(rank from) = 0;
};

/// A rank stops asking after so many round trips in a row without a new shortest one. Ranks need not agree.
struct sync_settings {
    int first = 20;  ///< on the first synchronisation of a clock
    int again = 5;   ///< on later ones
};

/// Synchronises the clocks of ranks 0 to `ranks` - 1, all of which call this, in ceil(log2 ranks) steps.
RUBATO_API void synchronise(ping_layer& layer, rank me, std::int32_t ranks, common_clock& clock,
                            const sync_settings& settings = {});

}  // namespace rubato
