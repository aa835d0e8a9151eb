// What a choice is computed from.
#pragma once

#include "rubato/choose.hpp"
#include "rubato/layout.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

namespace rubato::simulator {

/// The problem and the network of a simulation. Without `inside` all messages cost the same.
struct setting {
    const problem& asked;
    std::int64_t chunk;
    const model& network;
    const model* inside;
    bool equal_links;  ///< all of a rank's messages use its link and cost the same there
    time_ns bound;     ///< no algorithm can end sooner
    const end_on_cables& cables;

    time_ns first_arrival() const { return asked.arrivals.empty() ? time_ns{} : std::ranges::min(asked.arrivals); }
    time_ns last_arrival() const { return asked.arrivals.empty() ? time_ns{} : std::ranges::max(asked.arrivals); }
};

/// The result of one simulation.
struct outcome {
    time_ns end{};
    time_ns wire{};  ///< when the busiest link has carried all bytes
    double messages = 0;
    double partners = 0;
    bool waits = false;
    bool extrapolated = false;
    bool rough = false;  ///< a closer simulation may give another result
};
/// Results for a problem, by a hash of some ranks' schedules: many algorithms are equal if no rank is late.
using known_outcomes = std::map<std::size_t, outcome>;

enum class look : std::uint8_t { rough, close };

/// Sets the results of a simulation in a candidate, and returns them. Nothing if it cannot be built or simulated, or is
/// known to end after `limit`.
std::optional<outcome> find_end(candidate& c, const setting& s, time_ns limit, look how, known_outcomes& known);

/// Ends around the soonest one of some candidates.
struct margins {
    time_ns near;    ///< up to this they count as equal: no model is more exact
    time_ns better;  ///< worth another try
    time_ns unsure;  ///< a rough estimate up to this may also be the soonest
};
margins around(time_ns soonest, time_ns last_arrival, std::int64_t chunk, const model& network);
/// The soonest first; but of near equals the one that depends least on what models leave out.
std::vector<candidate> in_order(std::vector<candidate> found, time_ns last_arrival, std::int64_t chunk,
                                const model& network);
/// Sets how many messages a rank has, with how many others, and whether they wait for their receivers.
void count_messages(candidate& c, std::span<const schedule> all, const layout& sizes, const model& network);

/// Throws unless both models are of one kind; `inside` may be missing.
void check_kinds(const model& network, const model* inside);
/// The sizes of segments that are tried.
inline constexpr std::array<std::int64_t, 5> segment_sizes{4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10};
/// How many segments of that size a chunk has; 0: it is not cut.
RUBATO_API std::uint32_t pieces(std::int64_t chunk, std::int64_t segment);
/// The problem's round time, or one that suits its segments; 0 for an algorithm that does not use it.
time_ns round_time_of(const algorithm& a, const problem& p, std::int64_t chunk, const model& m);

}  // namespace rubato::simulator
