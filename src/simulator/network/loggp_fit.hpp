// From measured round trips to the parameters of a network (Hoefler 2008, II.2.3 and II.2.4). Times are nanoseconds.
//
// Round trips PRTT(n,d,s) as in Hoefler's thesis (II.2.4). What differs: sizes grow geometrically, so deviations are
// relative, and changes below 3 % are ignored. The look-ahead shows that there is a change, the best pair of lines
// where. The size from which messages wait for their receiver is tested: the receiver comes late. L is half a round
// trip less 2o, and o at most a quarter of it. f and the bounds of o come from messages to 1, 2, ... other ranks and
// back; with f = 1 and equal bounds the model is LogGP.
#pragma once

#include "rubato/model.hpp"

#include <optional>
#include <span>
#include <vector>

namespace rubato::simulator {

/// PRTT(n,d,s) of one message size s, a number per repetition: n messages one way, d apart, then one back.
struct round_trips {
    std::int64_t bytes = 0;        ///< s
    int messages = 16;             ///< n of a burst, at least 2
    std::vector<double> single{};  ///< PRTT(1,0,s)
    std::vector<double> burst{};   ///< PRTT(n,0,s)
    std::vector<double> spaced{};  ///< PRTT(n,d,s) with d above the gap, less the n-1 delays; empty: o is not measured
};

/// A value and how far off it may be: of a measured one, the distance to the median of the repetitions; of a fitted
/// one, its standard error.
struct reading {
    double value = 0;
    double spread = 0;
};

/// The value of repetitions: their 10 % quantile. Disturbances make them longer, and the shortest may be an error of
/// the clock.
RUBATO_API reading low_quantile(std::vector<double> repetitions);

/// One message size.
struct size_costs {
    std::int64_t bytes = 0;
    reading one_way{};                ///< PRTT(1,0,s)/2
    reading gap{};                    ///< g + (s-1)G
    std::optional<reading> overhead;  ///< o
};

/// y(s) = first + (s-1) slope by least squares of relative deviations: sizes span decades, and so do times.
struct fitted_line {
    reading first{};
    reading slope{};
    double residual = 0;  ///< root of the mean square, relative, without the one size that deviates most
};

/// Sizes that one line describes, from `begin` up to what was measured before the next range begins.
struct protocol_range {
    std::int64_t begin = 0;
    std::int64_t end = 0;  ///< the last measured size
    fitted_line gap{};     ///< g and G
    std::optional<fitted_line> overhead;
};

struct fit_settings {
    int look_ahead = 3;          ///< x: so many sizes must deviate to count as a change
    double factor = 2;           ///< pfact: by how much the mean square must rise
    double least_change = 0.03;  ///< smaller relative deviations are not a change
};

struct network_fit {
    std::vector<size_costs> sizes{};
    std::vector<protocol_range> ranges{};
    reading latency{};         ///< half a round trip of the smallest message
    reading L{};               ///< latency - 2o, not below 0
    reading o{};               ///< of the smallest message
    fitted_line one_way{};     ///< alpha + s beta of 4 KiB to 64 KiB; alpha is not below the latency
    std::size_t segments = 0;  ///< the range of most sizes from 4 KiB to 64 KiB, which collectives send
};

/// Of at least 3 sizes, ascending, each with repetitions; throws otherwise.
RUBATO_API network_fit fit_network(std::span<const round_trips> measured, const fit_settings& settings = {});

/// The models that fit best, to four digits: g and G of `segments`, L and o of the smallest message. o is at most
/// half of the latency, so that L + 2o is the latency. Negative values become 0.
RUBATO_API loggp loggp_of(const network_fit& fit, double combine, std::optional<std::int64_t> rendezvous);
RUBATO_API hockney hockney_of(const network_fit& fit, double combine);

/// LogfGP's f: how many small messages can be sent without paying the gap.
struct free_messages {
    int count = 0;
    bool at_least = false;  ///< the curve still falls at its end
};

/// LogfGP's bounds of o: of a message by itself, and of each more that is sent right after it.
struct overhead_bounds {
    double least = 0;
    double most = 0;
};

/// `times[i]` are those to send to i + 1 ranks, without the answers: o(P) P. The lower bound is the mean of all beside
/// the first, at most the upper one (II.2.3.1, where it is that of infinitely many).
RUBATO_API overhead_bounds fit_overhead_bounds(std::span<const double> times);

/// `times[i]` are those to send to i + 1 ranks and get all answers. f is where RTT(P)/P is least (II.2.3.3).
RUBATO_API free_messages fit_free_messages(std::span<const double> times);

/// The LogGP model with f, both bounds of o, and g of the smallest messages; L + 2 omax is the latency, too.
RUBATO_API loggp logfgp_of(const network_fit& fit, loggp m, const free_messages& free, const overhead_bounds& o);

}  // namespace rubato::simulator
