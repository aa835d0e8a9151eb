#include "command/cli/choose_program.hpp"

#include "base/core/text.hpp"
#include "command/cli/columns.hpp"
#include "command/cli/sim_program.hpp"
#include "simulator/programs/plan_choice.hpp"

#include <algorithm>
#include <thread>

namespace rubato::command {
namespace {

struct program_choosing {
    std::string title{};
    simulator::program what{};
    simulator::plan_choice chosen{};
    time_ns run_time{};      ///< simulated
    time_ns call_by_call{};  ///< by what `sim --program` takes if no plan is given
    time_ns bound{};
};

std::string cut(const candidate& c) { return c.segment == 0 ? "-" : format_bytes(c.segment); }

/// The best candidates of other algorithms, and how much longer the program takes with them.
std::string others_text(const std::vector<candidate>& all) {
    constexpr std::size_t shown = 3;
    std::vector<const algorithm*> named{all.front().use};
    std::string text;
    for (const candidate& c : all) {
        if (named.size() > shown || std::ranges::find(named, c.use) != named.end()) continue;
        named.push_back(c.use);
        const double more = static_cast<double>(c.end.count()) / static_cast<double>(all.front().end.count()) - 1;
        text += fmt::format("{}{} {:+.1f} %", text.empty() ? "" : ", ", c.use->id, 100 * more);
    }
    return text.empty() ? "-" : text;
}

base::json all_of(const std::vector<candidate>& all) {
    base::json list = base::json::array();
    for (const candidate& c : all)
        list.push_back({{"id", c.use->id}, {"segments", c.segments}, {"segment_bytes", c.segment}, {"end_ns", c.end}});
    return list;
}

columns<std::size_t> columns_of(const program_choosing& d) {
    const auto first = [&d](auto what) {
        return [&d, what](std::size_t i) { return what(d.chosen.calls[i].front()); };
    };
    return {
        {"CALL", "place", [&d](std::size_t i) { return d.what.calls[i].place; }},
        {">TIMES", "count",
         [&d](std::size_t i) {
             const auto is_like_it = [&](const simulator::program_event& e) {
                 return e.call < d.what.calls.size() && d.chosen.alike[e.call] == i;
             };
             return cell(std::ranges::count_if(d.what.events, is_like_it));
         }},
        {">CHUNK", "chunk_bytes",
         [&d](std::size_t i) {
             const simulator::program_call& c = d.what.calls[i];
             return cell(traits(c.what).moves_data() ? format_bytes(c.chunk) : "-", c.chunk);
         }},
        {"ALGORITHM", "id", first([](const candidate& c) { return cell(c.use->id); })},
        {">SEGMENT", "segment_bytes", first([](const candidate& c) { return cell(cut(c), c.segment); })},
        {"OTHERS: THE PROGRAM TAKES", "", [&d](std::size_t i) { return only_text(others_text(d.chosen.calls[i])); }},
        {"", "candidates", [&d](std::size_t i) { return cell("", all_of(d.chosen.calls[i])); }},
    };
}

/// The first of those that are alike.
std::vector<std::size_t> rows_of(const program_choosing& d) {
    std::vector<std::size_t> rows = numbers_to(d.what.calls.size());
    std::erase_if(rows, [&](std::size_t i) { return d.chosen.alike[i] != i; });
    return rows;
}

double ratio(time_ns a, time_ns b) {
    return static_cast<double>(a.count()) / static_cast<double>(std::max(b.count(), std::int64_t{1}));
}

std::string as_text(const program_choosing& d) {
    return fmt::format(
        "{}\n\nrun time   {}; with what suits each call by itself {}\nbound      {}; the run takes {:.2f} times as "
        "long\n\n{}",
        d.title, format_time(d.run_time), format_time(d.call_by_call), format_time(d.bound), ratio(d.run_time, d.bound),
        as_table(columns_of(d), rows_of(d)));
}

std::string as_json(const program_choosing& d) {
    return pretty({{"ranks", d.what.ranks},
                   {"run_time_ns", d.run_time},
                   {"call_by_call_ns", d.call_by_call},
                   {"bound_ns", d.bound},
                   {"calls", as_array(columns_of(d), rows_of(d))}});
}

}  // namespace

void choose_for_program(const std::string& file, std::int32_t ranks, const std::string& model_text, bool json) {
    const model network = parse_model(model_text);
    program_choosing d;
    d.what = read_any_program(file, ranks);
    d.chosen = simulator::choose_plan(d.what, network);
    simulation_options how;
    how.cores = std::max(1U, std::thread::hardware_concurrency());
    const auto run_time = [&](const simulator::program& p) {
        return std::ranges::max(simulator::play(p, network, {}, how).exits);
    };
    d.run_time = run_time(simulator::planned(d.what, d.chosen));
    d.call_by_call = run_time(d.what);
    // Without latency, which does not occupy a link in some models.
    d.bound = simulator::earliest_end(d.what, {time_ns{}, linear_costs(network).beta});
    d.title = fmt::format("{}: {}, {}, model {}", file, base::counted(d.what.ranks, "rank"),
                          base::counted(d.what.events.size(), "call"), model_text);
    write_out(json ? as_json(d) : as_text(d));
}

}  // namespace rubato::command
