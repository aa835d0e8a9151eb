// Run times measured on a network beside simulated ones: by the simulation on shared cables and, where it is installed,
// by SimGrid. bench/two_level measures and calls it.
#include "base/core/text.hpp"
#include "base/statistics/statistics.hpp"
#include "reports/results/results.hpp"
#include "rubato/arrival.hpp"
#include "simulator/simulate/at_scale.hpp"
#include "simulator/topology/flows.hpp"
#include "simulator/topology/generators.hpp"
#include "table.hpp"
#ifdef RUBATO_SIMGRID
#include "on_cables.hpp"
#endif

#include <CLI/CLI.hpp>

#include <cmath>

namespace {

using namespace rubato;

struct setting {
    simulator::network net;
    simulator::routes by;
    model m;
};

/// In ms, from the first arrival to the last exit.
double run_ms(const reports::sample& s) {
    return static_cast<double>((std::ranges::max(s.exits) - std::ranges::min(s.arrivals)).count()) / 1e6;
}

struct row {
    const reports::measured_case* what;
    const reports::contestant* how;
    base::estimate measured;
    std::size_t calls;
    double simulated;
    double by_simgrid;
};

void simulate_row(const setting& on, row& to) {
    const algorithm& a = find_algorithm(to.how->id);
    problem p;
    p.what = a.what;
    p.ranks = static_cast<std::int32_t>(on.net.endpoints());
    p.root = rank(to.what->root);
    p.segments = to.how->segments;
    p.round_time = to.how->round_time;
    p.arrivals = parse_arrivals(to.what->pattern, p.ranks);
    const std::int32_t chunks = traits(p.what).sized_chunks(p.ranks);
    const layout sizes = layout::uniform((to.what->bytes + chunks - 1) / chunks);
    schedules::shape_table ranks = simulator::shapes_of(a, p, std::span(&sizes, 1));
    const simulator::mapping where = simulator::linear_mapping(on.net.endpoints(), on.net.endpoints());
    const std::vector<time_ns> exits = simulator::simulate_on(on.by, where, on.m, ranks, p.arrivals).exits;
    const time_ns first = std::ranges::min(p.arrivals);
    to.simulated = static_cast<double>((std::ranges::max(exits) - first).count()) / 1e6;
#ifdef RUBATO_SIMGRID
    const auto& m = std::get<loggp>(on.m.network);
    const double last = std::ranges::max(exits_by_simgrid(on.by, where, m, ranks, p.arrivals));
    to.by_simgrid = last * 1e3 - static_cast<double>(first.count()) / 1e6;
#endif
}

std::vector<row> rows_of(const setting& on, const std::vector<reports::run>& runs) {
    std::vector<row> rows;
    for (const reports::run& r : runs)
        for (const reports::contestant& c : r.contestants) {
            std::vector<double> times;
            for (const reports::sample& s : r.samples)
                if (s.in_case == c.in_case && s.name == c.name && !s.late && s.stage == reports::stage::measure)
                    times.push_back(run_ms(s));
            const auto what = std::ranges::find(r.cases, c.in_case, &reports::measured_case::number);
            if (times.empty() || what == r.cases.end() || c.id.empty()) continue;
            simulate_row(on, rows.emplace_back(row{&*what, &c, base::estimate_median(times), times.size(), 0, 0}));
        }
    return rows;
}

std::string off(double simulated, const row& r) {
    return fmt::format("{:+.1f} %", 100 * (simulated / r.measured.value - 1));
}

void summarise(std::string_view who, const std::vector<row>& rows, double row::*time) {
    std::vector<double> errors;
    for (const row& r : rows) errors.push_back(100 * std::abs(r.*time / r.measured.value - 1));
    fmt::print("{}: {} cases, absolute error {:.1f} % in the median, {:.1f} % in nine of ten, {:.1f} % at most\n", who,
               errors.size(), base::median(errors), base::quantile(errors, 0.9), std::ranges::max(errors));
}

void print(const std::vector<row>& rows) {
    std::vector<std::vector<std::string>> cells{
        {"algorithm", "bytes", "arrivals", "calls", "emulated, ms", "95 %", "simulated, ms", "", "SimGrid, ms", ""}};
    for (const row& r : rows) {
        const std::string& pattern = r.what->pattern;
        cells.push_back(
            {r.how->name, format_bytes(r.what->bytes),
             pattern.find(',') == std::string::npos || pattern.find(':') != std::string::npos ? pattern : "spread",
             fmt::format("{}", r.calls), fmt::format("{:.1f}", r.measured.value),
             fmt::format("{:.1f}-{:.1f}", r.measured.low, r.measured.high), fmt::format("{:.1f}", r.simulated),
             off(r.simulated, r), r.by_simgrid > 0 ? fmt::format("{:.1f}", r.by_simgrid) : "",
             r.by_simgrid > 0 ? off(r.by_simgrid, r) : ""});
    }
    print_table(cells);
    fmt::print("\n");
    summarise("simulated", rows, &row::simulated);
    if (rows.front().by_simgrid > 0) summarise("SimGrid", rows, &row::by_simgrid);
}

}  // namespace

int main(int argc, char** argv) {
    std::string network_text;
    std::string model_text;
    std::vector<std::string> files;
    CLI::App app("Run times measured on a network beside simulated ones.");
    app.add_option("--network", network_text, "as for 'rubato sim'; rank r is endpoint r")->required();
    app.add_option("--model", model_text, "a LogGP model, such as file:FILE of 'rubato loggp'")->required();
    app.add_option("FILES", files, "of 'rubato bench --output'")->required();
    CLI11_PARSE(app, argc, argv);
    try {
        const simulator::network net = simulator::parse_network(network_text);
        const setting on{net, simulator::route(net), parse_model(model_text)};
        const std::vector<reports::run> runs = reports::read(files);
        const std::vector<row> rows = rows_of(on, runs);
        if (rows.empty())
            throw error("nothing to compare", "the files have no samples of Rubato's algorithms", "measure some");
        print(rows);
    } catch (const error& e) {
        fmt::print(stderr, "two_level_table: {}\n", e.what());
        return 2;
    }
    return 0;
}
