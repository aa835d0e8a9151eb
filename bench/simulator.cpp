// How fast are ranks simulated, making their schedules included, and how much memory do they take? Numbers of ranks
// from 2^10 on, in steps of four; each in a process of its own, so that its memory can be told. Medians of several
// runs.
//
//   simulator [--largest 20] [--runs 3] [--cores 1] [ID...]
#include "base/statistics/statistics.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/arrival.hpp"
#include "simulator/simulate/at_scale.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>

namespace {

using namespace rubato;

struct measured {
    double made = 0;       // s
    double simulated = 0;  // s
    double messages = 0;
    double peak = 0;  // bytes
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

measured measure(const std::string& id, std::int32_t ranks, const std::string& arrivals, int runs, unsigned cores) {
    problem p;
    const algorithm& a = find_algorithm(id);
    p.what = a.what;
    p.ranks = ranks;
    const model m = parse_model("loggp:L=2us,o=1us,g=1us,G=0.5ns");
    const layout sizes = layout::uniform(1024);
    const std::vector<time_ns> come = parse_arrivals(arrivals, ranks);
    std::vector<double> made, simulated;
    measured all;
    for (int i = 0; i < runs; ++i) {
        auto begin = std::chrono::steady_clock::now();
        schedules::shape_table shapes = simulator::shapes_of(a, p, std::span(&sizes, 1));
        made.push_back(seconds_since(begin));
        begin = std::chrono::steady_clock::now();
        (void)simulator::simulate(m, shapes, come, {.cores = cores});
        simulated.push_back(seconds_since(begin));
        std::uint64_t messages = 0;
        for (std::uint32_t r = 0; r < shapes.ranks(); ++r) messages += shapes.of(r).sends.size();
        all.messages = static_cast<double>(messages);
    }
    all.made = base::median(made);
    all.simulated = base::median(simulated);
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    all.peak = static_cast<double>(used.ru_maxrss) * 1024;
    return all;
}

/// In a child process.
template <class F>
measured apart(F f) {
    int ends[2] = {};
    if (pipe(ends) != 0) throw error("no pipe", "the system has none left", "close other programs");
    const pid_t child = fork();
    if (child == 0) {
        const measured result = f();
        const bool told = write(ends[1], &result, sizeof result) == sizeof result;
        _exit(told ? 0 : 1);
    }
    close(ends[1]);
    measured result;
    const bool heard = read(ends[0], &result, sizeof result) == sizeof result;
    close(ends[0]);
    waitpid(child, nullptr, 0);
    if (!heard)
        throw error("a measurement that has failed", "its process ended", "see what it says, or give fewer ranks");
    return result;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Times the simulation of many ranks.");
    int largest = 20;
    int runs = 3;
    unsigned cores = 1;
    std::string arrivals = "balanced";
    std::vector<std::string> ids{"barrier/dissemination", "allreduce/dissemination", "bcast/binomial"};
    app.add_option("--largest", largest, "logarithm of the most ranks (default: 20)")->check(CLI::Range(4, 22));
    app.add_option("--runs", runs, "of each (default: 3)")->check(CLI::Range(1, 1000));
    app.add_option("--cores", cores, "that the simulation may use (default: 1)")->check(CLI::Range(1, 256));
    app.add_option("--arrivals", arrivals, "as 'rubato sim' takes them (default: balanced)");
    app.add_option("ALGORITHMS", ids, "ids (default: barrier/dissemination allreduce/dissemination bcast/binomial)");
    CLI11_PARSE(app, argc, argv);
    try {
        std::vector<std::vector<std::string>> rows{{"algorithm", "ranks", "messages", "schedules", "simulation",
                                                    "million messages per s", "of the simulation", "memory"}};
        for (const std::string& id : ids)
            for (int bits = std::min(10, largest); bits <= largest; bits += 2) {
                const std::int32_t ranks = 1 << bits;
                const measured m = apart([&] { return measure(id, ranks, arrivals, runs, cores); });
                rows.push_back({id, fmt::format("{}", ranks), fmt::format("{:.0f}", m.messages),
                                fmt::format("{:.2f} ms", m.made * 1e3), fmt::format("{:.2f} ms", m.simulated * 1e3),
                                fmt::format("{:.2f}", m.messages / (m.made + m.simulated) / 1e6),
                                fmt::format("{:.2f}", m.messages / m.simulated / 1e6),
                                format_bytes(static_cast<std::int64_t>(m.peak))});
            }
        fmt::print("1 KiB, {} core(s), arrivals {}, medians of {}\n\n", cores, arrivals, runs);
        print_table(rows);
    } catch (const error& e) {
        fmt::print(stderr, "simulator: {}\n", e.what());
        return 2;
    }
    return 0;
}
