// Three placements of ranks beside each other, measured in rounds. bench/remapping measures and calls it.
#include "base/statistics/statistics.hpp"
#include "reports/results/results.hpp"
#include "table.hpp"

#include <CLI/CLI.hpp>

#include <array>
#include <map>

namespace {

using namespace rubato;

/// By contestant and bytes: the median run time of each round, in ms.
using times = std::map<std::pair<std::string, std::int64_t>, std::vector<double>>;

times read_times(const std::vector<std::string>& files) {
    times all;
    for (const reports::run& r : reports::read(files))
        for (const reports::contestant& c : r.contestants) {
            std::vector<double> ms;
            for (const reports::sample& s : r.samples)
                if (s.in_case == c.in_case && s.name == c.name && !s.late && s.stage == reports::stage::measure)
                    ms.push_back(
                        static_cast<double>((std::ranges::max(s.exits) - std::ranges::min(s.arrivals)).count()) / 1e6);
            const auto what = std::ranges::find(r.cases, c.in_case, &reports::measured_case::number);
            if (!ms.empty() && what != r.cases.end()) all[{c.name, what->bytes}].push_back(base::median(ms));
        }
    return all;
}

std::string with_interval(const std::vector<double>& values, int digits) {
    const base::estimate e = base::estimate_median(values);
    return fmt::format("{:.{}f} ({:.{}f}-{:.{}f})", e.value, digits, e.low, digits, e.high, digits);
}

void print(const std::array<times, 3>& all) {
    std::vector<std::vector<std::string>> cells{{"program", "bytes", "rounds", "in order, ms", "shuffled, ms",
                                                 "remapped, ms", "shuffled / in order", "remapped / shuffled",
                                                 "won back, %"}};
    for (const auto& [key, linear] : all[0]) {
        const std::vector<double>& shuffled = all[1].at(key);
        const std::vector<double>& remapped = all[2].at(key);
        std::vector<double> loses;
        std::vector<double> gains;
        std::vector<double> won;
        for (std::size_t i = 0; i < std::min({linear.size(), shuffled.size(), remapped.size()}); ++i) {
            loses.push_back(shuffled[i] / linear[i]);
            gains.push_back(remapped[i] / shuffled[i]);
            won.push_back(100 * (shuffled[i] - remapped[i]) / (shuffled[i] - linear[i]));
        }
        const bool lost = base::estimate_median(loses).low > 1;
        cells.push_back({key.first, format_bytes(key.second), fmt::format("{}", won.size()), with_interval(linear, 1),
                         with_interval(shuffled, 1), with_interval(remapped, 1), with_interval(loses, 2),
                         with_interval(gains, 2), lost ? with_interval(won, 0) : "nothing lost"});
    }
    print_table(cells);
}

}  // namespace

int main(int argc, char** argv) {
    std::array<std::vector<std::string>, 3> files;
    CLI::App app(
        "Three placements of ranks beside each other; files of 'rubato bench', one per round, in the same order.");
    app.add_option("--linear", files[0], "ranks in the order of hosts")->required();
    app.add_option("--shuffled", files[1], "ranks in random order")->required();
    app.add_option("--remapped", files[2], "as 'rubato remap' has moved them")->required();
    CLI11_PARSE(app, argc, argv);
    try {
        print({read_times(files[0]), read_times(files[1]), read_times(files[2])});
    } catch (const std::exception& e) {
        fmt::print(stderr, "remapping_table: {}\n", e.what());
        return 2;
    }
    return 0;
}
