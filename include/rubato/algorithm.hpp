// The registry: one row per algorithm. The command, the tests, the documentation and the drop-in all read it.
#pragma once

#include "rubato/problem.hpp"
#include "rubato/schedule.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato {

/// What an algorithm asks of a problem.
enum class need : std::uint16_t {
    commutative = 1,          ///< the operator commutes
    power_of_two = 2,         ///< the rank count is a power of two
    even_ranks = 4,           ///< the rank count is even (or one)
    idempotent_or_power = 8,  ///< x*x = x, or the rank count is a power of (ways + 1)
    radix_product = 16,       ///< if a radix vector is given, its product is the rank count
    radix_above_one = 32,     ///< if a radix is given, it is 2 or more
    round_time = 64,          ///< if arrivals differ, it is known how long a round takes
    torus = 128,              ///< the graph looks the same from all ranks of a torus
};

constexpr std::uint16_t operator|(need a, need b) {
    return static_cast<std::uint16_t>(static_cast<std::uint16_t>(a) | static_cast<std::uint16_t>(b));
}
constexpr std::uint16_t operator|(std::uint16_t a, need b) {
    return static_cast<std::uint16_t>(a | static_cast<std::uint16_t>(b));
}

/// The ways of an n-way dissemination that is given no radix.
inline constexpr std::int32_t default_ways = 2;

namespace schedules {
class state_machine;
}

struct algorithm {
    std::string_view id;  ///< "collective/name"; an early form is "collective/name+early"
    collective what;
    std::string_view summary;  ///< one line
    std::string_view source;   ///< where it is described
    std::uint16_t needs;       ///< bits of `need`
    bool segmented;            ///< uses problem::segments
    bool takes_radix;          ///< uses problem::radix
    bool arrival_aware;        ///< uses problem::arrivals
    bool host_aware;           ///< uses problem::hosts
    bool nearness;             ///< differs from a classic algorithm by nearer partners: only a network tells them apart
    /// All ranks that get a result combine it in the same order, so it has the same bits on all of them. False: ranks
    /// may round differently, and Rubato uses it only where it is named.
    bool same_bits;
    /// If named or announced, begins before its rank arrives; until then its output is in scratch.
    bool early;
    std::string_view alias;  ///< the literature's short name, such as "BSLN", or nothing
    // One of these is set: the second where one computation makes the schedules of all ranks, the third where the ranks
    // choose while they run (schedules/algorithms/dynamic.hpp). A schedule of the third records a run for given
    // arrivals.
    schedule (*build)(const problem&, rank);
    std::vector<schedule> (*build_some)(const problem&, std::span<const rank>);
    std::unique_ptr<schedules::state_machine> (*dynamic)(const problem&, rank);

    std::string_view name() const { return id.substr(id.find('/') + 1); }
    /// Whether problem::round_time makes a difference.
    bool uses_round_time() const { return dynamic != nullptr || has(need::round_time); }
    bool has(need n) const { return (needs & static_cast<std::uint16_t>(n)) != 0; }
};

RUBATO_API std::span<const algorithm> algorithms();
/// By id, or by alias in any case ("scatter/bsln"). Throws if there is no such algorithm, naming the nearest one.
RUBATO_API const algorithm& find_algorithm(std::string_view id);
/// The names of the needs, for people and machines: "commutative", "power_of_two", ...
RUBATO_API std::vector<std::string_view> need_names(const algorithm& a);
/// What to tell a user who names it, a sentence: that ranks may get different bits. Nothing if they do not.
RUBATO_API std::optional<std::string> caution(const algorithm& a);
/// The first need the problem does not meet, as a sentence; nothing if all are met.
RUBATO_API std::optional<std::string> unmet_need(const algorithm& a, const problem& p);
/// Throws if the problem makes no sense, is of another collective, or a need is not met.
RUBATO_API void check(const algorithm& a, const problem& p);
/// The schedules of all ranks. Throws if check() does.
RUBATO_API std::vector<schedule> build_all(const algorithm& a, const problem& p);
/// The schedule of one rank, likewise.
RUBATO_API schedule build_one(const algorithm& a, const problem& p, rank me);

}  // namespace rubato
