// Who is last at the calls of one place: always the same ranks, a host, ranks that take turns, or whoever by chance.
#pragma once

#include "observe/observation.hpp"

namespace rubato::report {

/// A test that says something by chance once in a thousand places is believed.
inline constexpr double believed_p = 0.001;
/// Ranks are to blame for what they do at half of the calls, or more.
inline constexpr double most_of_them = 0.5;
/// Calls of one turn end with the same rank this often, or more.
inline constexpr double takes_turns = 0.7;
/// Calls are looked at from the costliest on, until they hold this share of all waiting.
inline constexpr double costly_share = 0.9;

struct latecomers {
    enum class kind : std::uint8_t { ranks, host, turns, chance };

    kind how = kind::chance;
    std::vector<std::int32_t> ranks{};  ///< of the communicator, in order; of chance, none
    std::size_t calls = 0;              ///< that were looked at: those that cost most
    double share = 0;          ///< of these calls: the last rank is one of `ranks`; of turns, it is as foretold
    double by_chance = 0;      ///< what this share would be by chance
    double p = 1;              ///< of so large a share by chance; of kind chance, of counts as uneven by chance
    std::uint64_t period = 0;  ///< of turns: the last rank is the same again so many calls later
    time_ns late{};            ///< how far the last is behind the median rank, median over these calls
};

/// `hosts`: of each rank of the communicator. Needs at least one example.
latecomers find_latecomers(const observe::arrivals_seen& seen, std::span<const std::string> hosts);

}  // namespace rubato::report
