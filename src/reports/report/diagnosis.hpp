// What an observed program's waiting comes from, what mending it would be worth, and what to do next.
#pragma once

#include "reports/report/observed.hpp"

#include <array>

namespace rubato::reports {

/// A smaller share of the run is not worth mending.
inline constexpr double worth_mending = 0.03;
/// Calls that take so many times as long as the best simulated algorithm, from the last arrival on, are slow
/// themselves.
inline constexpr double slow_call = 1.5;

enum class cause : std::uint8_t { rank, host, rotating, chance, collective, network, none };
inline constexpr std::size_t cause_count = static_cast<std::size_t>(cause::none) + 1;

struct cause_traits {
    cause why;
    std::string_view name;
    std::string_view heading;  ///< on the page
    bool lateness;             ///< ranks wait for late ones; else the calls themselves take the time
};
inline constexpr std::array causes{
    cause_traits{cause::rank, "rank", "late rank", true},
    cause_traits{cause::host, "host", "late host", true},
    cause_traits{cause::rotating, "rotating", "ranks late in turn", true},
    cause_traits{cause::chance, "chance", "late by chance", true},
    cause_traits{cause::collective, "collective", "slow collective", false},
    cause_traits{cause::network, "network", "slow network", false},
    cause_traits{cause::none, "none", "", false},
};
/// Whether a table has a row for each cause, in their order.
consteval bool for_every_cause(const auto& rows) {
    std::size_t i = 0;
    for (const auto& row : rows)
        if (static_cast<std::size_t>(row.why) != i++) return false;
    return i == cause_count;
}
static_assert(for_every_cause(causes));
constexpr const cause_traits& traits_of(cause c) { return causes[static_cast<std::size_t>(c)]; }
constexpr std::string_view name_of(cause c) { return traits_of(c).name; }

struct finding {
    std::size_t row = 0;  ///< of the observation
    cause why = cause::none;
    std::vector<std::int32_t> ranks{};  ///< in the world: those who are late; empty if nobody in particular is
    time_ns waiting{};                  ///< mean over all ranks of the program. Of `collective` and `network`: the time
                                        ///< in the calls from the last arrival on
    double share_of_run = 0;            ///< of `waiting`; 0 if the run's duration is not known
    time_ns gain{};                     ///< of the run, if it were mended
    std::size_t places = 1;             ///< with this cause, if it is the first of them: mending would help at all
    time_ns gain_at_all{};              ///< of them
};

/// What one change of the whole program would be worth.
struct worth {
    std::string_view change{};
    std::optional<time_ns> gain{};  ///< nothing: it is not known
    std::optional<double> error{};  ///< of the simulation, as a share of the tail of what ran; nothing: none was needed
    std::string_view unknown{};     ///< why the gain is not known
};

struct diagnosis {
    time_ns waiting{};                ///< for late ranks in collectives, mean over all ranks
    time_ns moving{};                 ///< in collectives from the last arrival on, likewise
    std::vector<finding> findings{};  ///< the worst first
    std::vector<worth> worths{};
};

/// Of an observed program whose rows were all examined.
diagnosis diagnose(const observed& o);

// In words.

/// "24.0 % of the run is waiting in collectives ..."; what is to be done, or that nothing is.
std::string headline(const observed& o, const diagnosis& d);
/// "allreduce of 8 B at solve (solver.c:12)"
std::string row_text(const observed& o, std::size_t row);
/// Who is late and by which test; where that comes from; what it costs. A sentence each.
std::vector<std::string> sentences(const observed& o, const finding& f);
/// Whether a worse finding has the same ranks to blame: then only the last sentence is news.
bool said_before(const diagnosis& d, const finding& f);
/// What to do, then a command.
struct advice {
    std::string what{};
    std::string command{};

    std::string text() const { return command.empty() ? what : what + ": " + command; }
};
advice next_step(const observed& o, const finding& f);
/// "rank 3 on b", "ranks 4 to 7 on b"
std::string ranks_text(const observed& o, std::span<const std::int32_t> world_ranks);

}  // namespace rubato::reports
