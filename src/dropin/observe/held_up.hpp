// Collectives in which ranks wait for long: who has not come, where those ranks are, and whether ranks called different
// things.
#pragma once

#include "dropin/observe/part.hpp"

#include <functional>

namespace rubato::dropin {

/// A process of a program that runs.
struct watched_process {
    part seen{};
    std::vector<time_ns> ages{};  ///< of each of its threads: how long it has been where it is
    bool stopped = false;         ///< the process does not run at present, by no fault of its own
};

/// The same for all ranks that take part; ordered, but by nothing that means anything.
struct call_id {
    std::vector<std::int32_t> members{};  ///< ranks in the world; empty: MPI_Finalize
    std::uint32_t ordinal = 0;
    std::uint64_t invocation = 0;

    auto operator<=>(const call_id&) const = default;
};

struct held_up_call {
    call_id which{};
    time_ns waited{};                 ///< by the rank that has waited longest
    std::vector<std::string> text{};  ///< for people: what waits, then a line per kind of absence or difference
};

/// Calls in which a rank has waited for `limit` or longer, the longest wait first; MPI_Finalize only if there is
/// nothing else. Ranks of which nothing is given are said to be unknown. `place` names a site.
std::vector<held_up_call> find_held_up(std::span<const watched_process> all, std::int32_t ranks, time_ns limit,
                                       const std::function<std::string(const site&)>& place);

/// "0-15"; "0", "2", "4-7": successive ranks together.
std::vector<std::string> runs_of_ranks(std::span<const std::int32_t> ranks);
/// "rank 3", "ranks 0, 4-7"; at most a few of them, and how many more there are.
std::string ranks_text(std::span<const std::int32_t> ranks);

}  // namespace rubato::dropin
