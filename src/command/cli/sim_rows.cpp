#include "command/cli/sim_rows.hpp"

#include "command/cli/columns.hpp"

#include <algorithm>

namespace rubato::command {
namespace {

/// Why some rows are not simulated with all ranks, the slowest first; nothing if all are.
std::string remark(const std::vector<simulated_row>& rows) {
    constexpr std::size_t most = 5;
    std::vector<const simulated_row*> some;
    for (const simulated_row& r : rows)
        if (!r.skipped && !r.all) some.push_back(&r);
    if (some.empty()) return "";
    std::ranges::stable_sort(some, std::ranges::greater{}, [](const simulated_row* r) { return r->takes.ns; });
    table lines;
    for (std::size_t i = 0; i < std::min(most, some.size()); ++i)
        lines.push_back({"", std::string(some[i]->a->id), to_string(some[i]->takes)});
    const std::string more = some.size() > most ? fmt::format("  and {} more\n", some.size() - most) : "";
    return fmt::format("\nfrom fewer ranks: extrapolated. To simulate all ranks (--force) takes\n{}{}", align(lines),
                       more);
}

std::string_view how_text(const simulated_row& r) { return r.all ? "simulated" : "from fewer ranks"; }

columns<simulated_row> columns_of_rows(bool say_how) {
    // Known of all ranks only.
    const auto known = [](auto made) {
        return [made](const simulated_row& r) { return r.all ? cell(made(*r.all)) : cell(); };
    };
    columns<simulated_row> all{
        {"ALGORITHM", "id", [](const simulated_row& r) { return r.a->id; }},
        {"", "how", [](const simulated_row& r) { return how_text(r); }},
        {">RUN TIME", "run_time_ns", &simulated_row::run},
        {">TAIL", "tail_ns", &simulated_row::tail},
        {">ABSORPTION", "absorption_ns", &simulated_row::absorption},
        {"", "segments", [](const simulated_row& r) { return r.p.segments; }},
        {"", "round_time_ns",
         [](const simulated_row& r) { return r.a->uses_round_time() ? cell(r.p.round_time) : cell(); }},
        {"", "exit_ns", known([](const details& d) { return cell("", d.exits); })},
        {">ROUNDS", "rounds", known([](const details& d) { return d.counted.rounds; })},
        {">MESSAGES", "messages", known([](const details& d) { return d.counted.messages; })},
        {">BYTES SENT", "bytes", known([](const details& d) { return bytes_cell(d.counted.bytes); })},
        {">ENERGY", "energy_j", known([](const details& d) { return cell(format_energy(d.joules), d.joules); })},
        {">MEMORY", "memory_bytes", known([](const details& d) { return bytes_cell(d.memory); })},
        {">SEGMENTS", "",
         [](const simulated_row& r) { return only_text(r.a->segmented ? fmt::format("{}", r.p.segments) : "-"); }},
    };
    if (say_how) all.push_back({">HOW", "", [](const simulated_row& r) { return how_text(r); }});
    return all;
}

}  // namespace

std::string text_of(const std::vector<simulated_row>& rows, const std::string& heading) {
    const std::string note = remark(rows);
    std::vector<simulated_row> done;
    std::string below;
    for (const simulated_row& r : rows)
        if (r.skipped)
            below += fmt::format("{} skipped: {}\n", r.a->id, *r.skipped);
        else
            done.push_back(r);
    if (!below.empty()) below.insert(0, 1, '\n');
    return heading + "\n\n" + as_table(columns_of_rows(!note.empty()), done) + below + note;
}

std::string json_of(const std::vector<simulated_row>& rows) {
    auto out = base::json::array();
    for (const simulated_row& r : rows)
        out.push_back(r.skipped ? base::json{{"id", r.a->id}, {"skipped", *r.skipped}}
                                : as_object(columns_of_rows(false), r));
    return pretty(out);
}

}  // namespace rubato::command
