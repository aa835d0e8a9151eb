#include "command.hpp"
#include "overlap.hpp"
#include "overlap_summary.hpp"

#include <fmt/format.h>

namespace rubato::cli {

std::string overlap_table(const results::run& r) {
    const auto time = [](double ns) { return format_time(time_ns(static_cast<std::int64_t>(ns))); };
    std::string text;
    for (const results::measured_case& c : r.cases) {
        std::vector<results::overlap> samples;
        for (const results::overlap& o : r.overlaps)
            if (o.in_case == c.number) samples.push_back(o);
        std::vector<std::vector<std::string>> rows{
            {"CONTESTANT", "METHOD", "TESTS", "TOTAL", "COMPUTATION", "VISIBLE", "HIDDEN", "IN CALLS", "FREED", "CPU"}};
        bool threads = false;
        for (const results::overlap_summary& s : summarise(samples)) {
            const bool computes = s.computation > 0;
            threads |= s.method == "thread";
            rows.push_back({s.name, s.method, computes ? std::to_string(s.tests) : "-", time(s.total),
                            computes ? time(s.computation) : "-", time(s.visible),
                            computes ? fmt::format("{:.0f} %", 100 * s.hidden) : "-", time(s.in_calls),
                            computes ? fmt::format("{:.0f} %", 100 * s.freed) : "-", time(s.overhead)});
        }
        text += fmt::format("{}{}, {}, {} rank{}\n\n{}", text.empty() ? "" : "\n", c.collective, format_bytes(c.bytes),
                            r.how.ranks(), r.how.ranks() == 1 ? "" : "s",
                            align(rows, {false, false, true, true, true, true, true, true, true, true}));
        if (!threads && !samples.empty())
            text += "(no second thread: the MPI library does not let several threads call it)\n";
    }
    return text;
}

}  // namespace rubato::cli
