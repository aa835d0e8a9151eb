#include "cli/sim_program.hpp"
#include "exports/replay.hpp"

#include <fmt/format.h>

#include <utility>

namespace rubato::cli {
namespace {

/// Other ranks take the times of those that there were, in turn.
void change_ranks(program& p, std::int32_t ranks, const std::string& file) {
    for (program_call& c : p.calls) {
        if (!c.members.empty())
            throw error(fmt::format("'{}' with {} ranks", file, ranks),
                        "some of its communicators have only a part of the ranks",
                        fmt::format("leave --ranks out, or give {}", p.ranks));
        c.root.value %= ranks;
    }
    for (program_event& e : p.events) {
        const std::vector<time_ns> were = std::exchange(e.computing, {});
        for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) e.computing.push_back(were[r % were.size()]);
    }
    p.ranks = ranks;
}

}  // namespace

observed_program read_observed_program(const std::string& file, std::int32_t ranks) {
    exports::replay seen = exports::replay_of(exports::read_trace(file), file);
    observed_program made{std::move(seen.what), seen.took};
    made.replayed = made.what.events.size();
    for (const observe::row& r : observe::read(file).rows) made.calls += r.calls;
    if (ranks > 0 && ranks != made.what.ranks) change_ranks(made.what, ranks, file);
    return made;
}

}  // namespace rubato::cli
