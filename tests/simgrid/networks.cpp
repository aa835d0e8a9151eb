// SimGrid as a referee of the simulation on shared cables: the same schedules and arrivals on two-level trees, where
// uplinks are the bottleneck, and on a torus. Prints a table, and fails if an exit differs.
#include "on_cables.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/arrival.hpp"
#include "simulator/simulate/at_scale.hpp"
#include "simulator/topology/flows.hpp"
#include "simulator/topology/generators.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace {

using namespace rubato;

struct refereed {
    const char* id;
    std::int64_t chunk;
    std::uint32_t segments;
};
constexpr std::array cases{
    refereed{"reduce/binomial", 65536, 1},        refereed{"reduce/chain", 65536, 8},
    refereed{"reduce/clairvoyant", 65536, 16},    refereed{"allreduce/ring", 262144, 1},
    refereed{"allreduce/rabenseifner", 65536, 1}, refereed{"allreduce/recursive_doubling", 65536, 1},
    refereed{"bcast/binomial", 262144, 1},        refereed{"bcast/chain", 65536, 8},
    refereed{"bcast/scatter_ring", 65536, 1},     refereed{"alltoall/pairwise", 4096, 1},
    refereed{"alltoall/bruck", 4096, 1},          refereed{"alltoall/direct", 65536, 1},
};
// What a rank combines first, of two segments that have come at once, may differ: reduce/clairvoyant is off by that.
constexpr double most_off = 3e-3;
constexpr std::array patterns{"balanced", "single:rank=5,delay=20ms", "uniform:max=40ms,seed=7"};
constexpr std::array networks{"fattree:crossbar=5,ports=16,oversubscription=1:4",
                              "fattree:crossbar=6,ports=16,oversubscription=1:2", "torus:4x4"};

/// The furthest that a rank's exit is off, as a share of the last. Prints a line.
double compare(const simulator::routes& by, const refereed& c, const char* pattern, const loggp& m) {
    const algorithm& a = find_algorithm(c.id);
    problem p;
    p.what = a.what;
    p.ranks = 16;
    p.segments = c.segments;
    p.arrivals = parse_arrivals(pattern, p.ranks);
    p.round_time = std::chrono::milliseconds(1);
    const layout sizes = layout::uniform(c.chunk);
    schedules::shape_table ranks = simulator::shapes_of(a, p, std::span(&sizes, 1));
    const simulator::mapping where = simulator::linear_mapping(16, by.net().endpoints());
    const std::vector<double> theirs = exits_by_simgrid(by, where, m, ranks, p.arrivals);
    const std::vector<time_ns> ours = simulate_on(by, where, model{m}, ranks, p.arrivals).exits;
    const double last = std::ranges::max(theirs);
    double furthest = 0;
    for (std::size_t r = 0; r < ours.size(); ++r)
        furthest = std::max(furthest, std::abs(static_cast<double>(ours[r].count()) / 1e9 - theirs[r]) / last);
    fmt::print("{:<30}{:<28}{:<10}{:>9.2f} ms{:>9.2f} ms{:>9.4f} %\n", c.id, pattern,
               m.rendezvous == 0 ? "waits" : "free", static_cast<double>(std::ranges::max(ours).count()) / 1e6,
               last * 1e3, 100 * furthest);
    return furthest;
}

}  // namespace

int main() {
    const loggp free{300000, 0, 0, 170, 1};
    const loggp waiting{300000, 0, 0, 170, 1, 0};  // messages wait for their receivers
    bool good = true;
    fmt::print("{:<30}{:<28}{:<10}{:>12}{:>12}{:>11}\n", "algorithm", "arrivals", "sends", "simulated", "SimGrid",
               "furthest");
    for (const char* name : networks) {
        const simulator::network net = simulator::parse_network(name);
        const simulator::routes by = simulator::route(net, name[0] == 'f' ? "modulo" : "");
        fmt::print("{}, routing {}\n", name, by.name());
        for (const refereed& c : cases)
            for (const char* pattern : patterns)
                for (const loggp& m : {free, waiting}) good = compare(by, c, pattern, m) < most_off && good;
    }
    if (!good) fmt::print("some differ\n");
    return good ? 0 : 1;
}
