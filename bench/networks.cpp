// Figure II.24 of Hoefler 2008, and its real networks: what it prints and what Rubato computes.
#include "command/cli/parallel.hpp"
#include "page_check.hpp"
#include "simulator/topology/congestion.hpp"
#include "simulator/topology/generators.hpp"

#include <CLI/CLI.hpp>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace rubato::simulator;

struct printed {
    int crossbar;
    const char* factor;
    int ports;
    int depth;
    double index;  ///< mean forwarding index
    double bandwidth;
};

// The printed 7803 of the row with 768 ports is that of another row, and -7969 has a sign too many.
constexpr std::array rows{
    printed{8, "1:1", 512, 2, 541.3, 0.599},      printed{8, "3:5", 520, 2, 667.5, 0.562},
    printed{8, "1:3", 528, 2, 749.7, 0.536},      printed{8, "1:1", 3072, 3, 2954, 0.632},
    printed{8, "3:5", 3200, 3, 3013, 0.598},      printed{8, "1:3", 3456, 3, 3825, 0.555},
    printed{8, "1:1", 7168, 3, 7365, 0.594},      printed{8, "3:5", 7200, 3, 7969, 0.570},
    printed{8, "1:3", 6912, 3, 8448, 0.503},      printed{8, "1:1", 10240, 3, 10627, 0.569},
    printed{8, "3:5", 10400, 3, 11471, 0.557},    printed{8, "1:3", 10368, 3, 12240, 0.502},
    printed{16, "1:1", 512, 2, 467.4, 0.717},     printed{16, "5:11", 528, 2, 498.7, 0.685},
    printed{16, "1:3", 576, 2, 611.5, 0.635},     printed{16, "1:1", 3072, 2, 3241, 0.596},
    printed{16, "5:11", 2992, 2, 3266, 0.584},    printed{16, "1:3", 3072, 2, 4491, 0.493},
    printed{16, "1:1", 7040, 2, 7595, 0.555},     printed{16, "5:11", 7040, 2, 9969, 0.486},
    printed{16, "1:3", 6912, 2, 9569, 0.472},     printed{16, "1:1", 8192, 2, 9193, 0.542},
    printed{16, "5:11", 10032, 2, 18984, 0.442},  printed{16, "1:3", 9984, 2, 25375, 0.391},
    printed{24, "1:1", 576, 2, 431.9, 0.777},     printed{24, "1:2", 384, 1, 736.0, 0.581},
    printed{24, "1:3", 432, 1, 1242, 0.455},      printed{24, "1:1", 3168, 2, 3165, 0.668},
    printed{24, "1:2", 3072, 2, 3269, 0.601},     printed{24, "1:3", 3024, 2, 3357, 0.597},
    printed{24, "1:1", 6912, 2, 7565, 0.574},     printed{24, "1:2", 6912, 2, 7298, 0.584},
    printed{24, "1:3", 6912, 2, 9307, 0.531},     printed{24, "1:1", 10080, 2, 10964, 0.579},
    printed{24, "1:2", 9984, 2, 10819, 0.568},    printed{24, "1:3", 9936, 2, 11278, 0.548},
    printed{32, "1:1", 512, 1, 496.0, 0.812},     printed{32, "11:21", 672, 1, 1282, 0.583},
    printed{32, "1:3", 768, 1, 2232, 0.443},      printed{32, "1:1", 3072, 2, 2881, 0.684},
    printed{32, "11:21", 3360, 2, 3329, 0.650},   printed{32, "1:3", 3072, 2, 3622, 0.582},
    printed{32, "1:1", 7168, 2, 7139, 0.658},     printed{32, "11:21", 7392, 2, 7762, 0.628},
    printed{32, "1:3", 6912, 2, 7803, 0.584},     printed{32, "1:1", 10240, 2, 10323, 0.638},
    printed{32, "11:21", 10080, 2, 10480, 0.619}, printed{32, "1:3", 9984, 2, 11422, 0.578},
};

double bandwidth_on(const routes& r, std::size_t patterns) {
    std::vector<double> values(patterns);
    constexpr std::size_t pieces = 50;
    rubato::command::for_each_in_parallel(pieces, "of the bisections", [&](std::size_t piece) {
        meter m(r);
        for (std::size_t i = piece; i < patterns; i += pieces)
            values[i] = bandwidth_of(m, random_bisection(r.net().endpoints(), 1, i));
    });
    double sum = 0;
    for (const double v : values) sum += v;
    return sum / static_cast<double>(patterns);
}

std::string difference(double here, double there) { return fmt::format("{:+.1f} %", 100 * (here / there - 1)); }

struct networks_options {
    int most_ports = 1000000;
    std::size_t patterns = 200;
    std::string page{};
};

std::string table(const networks_options& o) {
    std::string out =
        "| crossbar | factor | ports/depth | printed | balanced | | modulo | | index: printed | balanced | modulo |\n"
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
    for (const printed& p : rows) {
        if (p.ports > o.most_ports) continue;
        const network net = parse_network(fmt::format("fattree:crossbar={},ports={},oversubscription={},depth={}",
                                                      p.crossbar, p.ports, p.factor, p.depth));
        std::array<double, 2> bandwidth{};
        std::array<double, 2> index{};
        for (const std::size_t i : {0U, 1U}) {
            const routes r = route(net, i == 0 ? "balanced" : "modulo");
            bandwidth[i] = bandwidth_on(r, o.patterns);
            index[i] = forwarding_index_of(r).mean;
        }
        out += fmt::format("| {} | {} | {}/{} | {:.3f} | {:.3f} | {} | {:.3f} | {} | {:.0f} | {:.0f} | {:.0f} |\n",
                           p.crossbar, p.factor, p.ports, p.depth, p.bandwidth, bandwidth[0],
                           difference(bandwidth[0], p.bandwidth), bandwidth[1], difference(bandwidth[1], p.bandwidth),
                           p.index, index[0], index[1]);
    }
    return out;
}

std::string chic(const networks_options& o) {
    const network net = parse_network("directors:crossbar=24,ports=528,oversubscription=1:1,count=2");
    std::string out =
        "| CHiC, 528 endpoints | effective bisection bandwidth | |\n|---|---:|---:|\n| printed, 566 nodes | 0.606 | "
        "|\n";
    for (const char* how : {"balanced", "modulo", "updown"}) {
        const double here = bandwidth_on(route(net, how), o.patterns);
        out += fmt::format("| {} | {:.3f} | {} |\n", how, here, difference(here, 0.606));
    }
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    networks_options o;
    CLI::App app("Networks of Hoefler 2008: what it prints, and what Rubato computes.");
    app.add_option("--most-ports", o.most_ports, "leave out larger networks");
    app.add_option("--patterns", o.patterns, "random bisections of each (default: 200)");
    app.add_option("--page", o.page, "fail if this page does not have the tables");
    CLI11_PARSE(app, argc, argv);
    const std::string all = table(o) + "\n" + chic(o);
    if (o.page.empty()) {
        fmt::print("{}", all);
        return 0;
    }
    const std::string missing = missing_in(o.page, all);
    fmt::print("{}", missing);
    return missing.empty() ? 0 : 1;
}
