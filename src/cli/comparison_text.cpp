#include "cli/comparison_text.hpp"

#include "cli/command.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato::cli {

std::string comparison_text(const report::run_comparison& c, bool all) {
    constexpr std::size_t places_shown = 20;
    std::string out;
    for (const report::run_times& r : c.runs) out += fmt::format("{}: {}\n", r.file, r.summary);
    out += fmt::format("\n{}\n\n", report::headline(c));
    table lines{{"PLACE", "CALLS", "THEN", "TIME", "THEN", "WAITING", "THEN", "GAINED"}};
    const std::size_t shown = all ? c.places.size() : std::min(places_shown, c.places.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const report::place_times& p = c.places[i];
        lines.push_back({p.place, fmt::format("{}", p.calls[0]), fmt::format("{}", p.calls[1]), format_time(p.time[0]),
                         format_time(p.time[1]), format_time(p.waiting[0]), format_time(p.waiting[1]),
                         format_time(p.time[0] - p.time[1])});
    }
    out += align(lines, {false, true, true, true, true, true, true, true});
    if (shown < c.places.size())
        out += fmt::format("{} more places, of which less is to be said: --all\n", c.places.size() - shown);
    return out + "Times are in the calls, mean over the ranks.\n";
}

}  // namespace rubato::cli
