#include "cli/sim_rows.hpp"

#include "cli/command.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace rubato::cli {
namespace {

/// Why some rows are not simulated with all ranks, the slowest first; nothing if all are.
std::string remark(const std::vector<simulated_row>& rows) {
    constexpr std::size_t most = 5;
    std::vector<const simulated_row*> some;
    for (const simulated_row& r : rows)
        if (!r.skipped && !r.all) some.push_back(&r);
    if (some.empty()) return "";
    std::ranges::stable_sort(some, std::ranges::greater{}, [](const simulated_row* r) { return r->takes.ns; });
    std::vector<std::vector<std::string>> lines;
    for (std::size_t i = 0; i < std::min(most, some.size()); ++i)
        lines.push_back({"", std::string(some[i]->a->id), to_string(some[i]->takes)});
    const std::string more = some.size() > most ? fmt::format("  and {} more\n", some.size() - most) : "";
    return fmt::format("\nfrom fewer ranks: extrapolated. To simulate all ranks (--force) takes\n{}{}",
                       align(lines, {false, false, false}), more);
}

std::string_view how_text(const simulated_row& r) { return r.all ? "simulated" : "from fewer ranks"; }

}  // namespace

std::string text_of(const std::vector<simulated_row>& rows, const std::string& heading) {
    std::vector<std::vector<std::string>> lines{{"ALGORITHM", "RUN TIME", "TAIL", "ABSORPTION", "ROUNDS", "MESSAGES",
                                                 "BYTES SENT", "ENERGY", "MEMORY", "SEGMENTS"}};
    const std::string note = remark(rows);
    if (!note.empty()) lines.front().emplace_back("HOW");
    std::string below;
    for (const simulated_row& r : rows) {
        if (r.skipped) {
            below += fmt::format("{} skipped: {}\n", r.a->id, *r.skipped);
            continue;
        }
        const auto known = [&r](auto text) { return r.all ? text(*r.all) : std::string("-"); };
        lines.push_back({std::string(r.a->id), format_time(r.run), format_time(r.tail), format_time(r.absorption),
                         known([](const details& d) { return fmt::format("{}", d.counted.rounds); }),
                         known([](const details& d) { return fmt::format("{}", d.counted.messages); }),
                         known([](const details& d) { return format_bytes(d.counted.bytes); }),
                         known([](const details& d) { return format_energy(d.joules); }),
                         known([](const details& d) { return format_bytes(d.memory); }),
                         r.a->segmented ? fmt::format("{}", r.p.segments) : "-"});
        if (!note.empty()) lines.back().emplace_back(how_text(r));
    }
    std::vector<bool> right(lines.front().size(), true);
    right.front() = false;
    if (!below.empty()) below.insert(0, 1, '\n');
    return heading + "\n\n" + align(lines, right) + below + note;
}

std::string json_of(const std::vector<simulated_row>& rows) {
    using nlohmann::ordered_json;
    auto out = ordered_json::array();
    for (const simulated_row& r : rows) {
        if (r.skipped) {
            out.push_back({{"id", r.a->id}, {"skipped", *r.skipped}});
            continue;
        }
        ordered_json one{{"id", r.a->id},
                         {"how", how_text(r)},
                         {"run_time_ns", r.run.count()},
                         {"tail_ns", r.tail.count()},
                         {"absorption_ns", r.absorption.count()},
                         {"segments", r.p.segments}};
        if (r.a->uses_round_time()) one["round_time_ns"] = r.p.round_time.count();
        if (r.all) {
            auto exits = ordered_json::array();
            for (const time_ns t : r.all->exits) exits.push_back(t.count());
            one.update({{"exit_ns", std::move(exits)},
                        {"rounds", r.all->counted.rounds},
                        {"messages", r.all->counted.messages},
                        {"bytes", r.all->counted.bytes},
                        {"energy_j", r.all->joules},
                        {"memory_bytes", r.all->memory}});
        }
        out.push_back(std::move(one));
    }
    return out.dump(2) + '\n';
}

}  // namespace rubato::cli
