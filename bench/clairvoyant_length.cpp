// How many rounds does generate_plus() save over the rule, how far are both from the lower bound, and what does it
// cost?
//
//   clairvoyant_length [--instances K] [--seed S] [--quick]
//
// Random instances of several families of arrivals: 2 to 80 ranks (or 128), 1 to 80 segments, any root. Delays are in
// transfers: the time to send a whole vector, N rounds. Times are of the thread's processor time. At the end, instances
// that are small enough to find the optimum by trying everything.
#include "generators/exhaustive.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <random>

namespace {

using namespace rubato;
using namespace rubato::schedules;

class dice {
public:
    explicit dice(std::uint64_t seed) : random_(seed) {}
    std::int32_t whole(std::int32_t low, std::int32_t high) {
        return std::uniform_int_distribution(low, high)(random_);
    }
    double real(double low, double high) { return std::uniform_real_distribution(low, high)(random_); }

private:
    std::mt19937_64 random_;
};

/// Arrivals of all ranks, in transfers.
using arrivals = std::vector<double>;

struct family {
    const char* name;
    void (*draw)(dice& d, arrivals& all, std::size_t root);
};

std::size_t any(dice& d, const arrivals& all) {
    return static_cast<std::size_t>(d.whole(0, static_cast<std::int32_t>(all.size()) - 1));
}

void uniform(dice& d, arrivals& all, double spread) {
    for (double& t : all) t = d.real(0, spread);
}

constexpr std::array families{
    family{"balanced", [](dice&, arrivals&, std::size_t) {}},
    family{"one late by 0-2", [](dice& d, arrivals& all, std::size_t) { all[any(d, all)] = d.real(0, 2); }},
    family{"uniform in 0.1-1", [](dice& d, arrivals& all, std::size_t) { uniform(d, all, d.real(0.1, 1)); }},
    family{"uniform in 1-3", [](dice& d, arrivals& all, std::size_t) { uniform(d, all, d.real(1, 3)); }},
    family{"2-5 clusters in 0.1-2",
           [](dice& d, arrivals& all, std::size_t) {
               arrivals centres(static_cast<std::size_t>(d.whole(2, 5)));
               uniform(d, centres, d.real(0.1, 2));
               for (double& t : all) {
                   t = centres[any(d, centres)];
                   t += d.real(0, 0.05);
               }
           }},
    family{"two groups, 0-2 apart",
           [](dice& d, arrivals& all, std::size_t) {
               const double late = d.real(0, 2);
               const double share = d.real(0, 1);
               for (double& t : all) t = d.real(0, 1) < share ? late : 0;
           }},
    family{"exponential, 0.02-0.5",
           [](dice& d, arrivals& all, std::size_t) {
               const double mean = d.real(0.02, 0.5);
               for (double& t : all) t = -mean * std::log(1 - d.real(0, 1));
           }},
    family{"root late by 0-1.5",
           [](dice& d, arrivals& all, std::size_t root) {
               uniform(d, all, d.real(0, 0.3));
               all[root] = d.real(0, 1.5);
           }},
};

instance make(const family& f, dice& d, std::int32_t most_ranks, std::int32_t most_segments) {
    instance in;
    in.ranks = most_ranks == 80 && d.whole(0, 19) == 0 ? 128 : d.whole(2, most_ranks);
    in.segments = static_cast<std::uint32_t>(d.whole(1, most_segments));
    in.root = rank(d.whole(0, in.ranks - 1));
    in.round_time = time_ns{1000};
    arrivals all(static_cast<std::size_t>(in.ranks));
    f.draw(d, all, static_cast<std::size_t>(in.root.value));
    for (const double t : all) in.arrivals.emplace_back(std::llround(1000 * t * in.segments));
    return in;
}

double processor_time() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct sample {
    std::int64_t rule;
    std::int64_t plus;
    std::int64_t bound;
    double transfers;
    double rule_time;
    double plus_time;
};

sample measure(const instance& in) {
    const double begin = processor_time();
    const rounds rule = generate(in);
    const double middle = processor_time();
    const rounds plus = generate_plus(in);
    const double end = processor_time();
    return {rule.length,    plus.length, lower_bound(in), static_cast<double>(in.ranks - 1) * in.segments,
            middle - begin, end - middle};
}

struct tally {
    double instances = 0;
    double rule_at_bound = 0;
    double plus_at_bound = 0;
    double shorter = 0;
    double rule_above = 0;
    double plus_above = 0;
    std::int64_t most_saved = 0;
    std::int64_t most_above = 0;
    double transfers = 0;
    double rule_time = 0;
    double plus_time = 0;

    void add(const sample& s) {
        ++instances;
        rule_at_bound += s.rule == s.bound;
        plus_at_bound += s.plus == s.bound;
        shorter += s.plus < s.rule;
        rule_above += static_cast<double>(s.rule - s.bound);
        plus_above += static_cast<double>(s.plus - s.bound);
        most_saved = std::max(most_saved, s.rule - s.plus);
        most_above = std::max(most_above, s.plus - s.bound);
        transfers += s.transfers;
        rule_time += s.rule_time;
        plus_time += s.plus_time;
    }
    void print(std::string_view name) const {
        fmt::print("{:22} {:8.1f} {:8.1f} {:8.1f} {:8.2f} {:5} {:8.2f} {:8.2f} {:5} {:7.1f} {:7.1f} {:6.2f}\n", name,
                   100 * rule_at_bound / instances, 100 * plus_at_bound / instances, 100 * shorter / instances,
                   (rule_above - plus_above) / instances, most_saved, rule_above / instances, plus_above / instances,
                   most_above, 1e9 * rule_time / transfers, 1e9 * plus_time / transfers, plus_time / rule_time);
    }
};

void compare_with_bound(dice& d, int count) {
    fmt::print("{:22} {:>17} {:>8} {:>14} {:>23} {:>22}\n", "", "% at the bound", "%", "rounds saved",
               "rounds above the bound", "ns per transfer");
    fmt::print("{:22} {:>8} {:>8} {:>8} {:>8} {:>5} {:>8} {:>8} {:>5} {:>7} {:>7} {:>6}\n", "arrivals", "rule", "plus",
               "shorter", "mean", "most", "rule", "plus", "most", "rule", "plus", "ratio");
    tally all;
    for (const family& f : families) {
        tally t;
        for (int k = 0; k < count; ++k) {
            const sample s = measure(make(f, d, 80, 80));
            t.add(s);
            all.add(s);
        }
        t.print(f.name);
    }
    all.print("all");
}

void compare_with_optimum(dice& d, int count) {
    int bound = 0;
    int plus = 0;
    int rule = 0;
    for (int k = 0; k < count; ++k) {
        const instance in = make(families[static_cast<std::size_t>(k) % families.size()], d, 5, 3);
        const std::int64_t best = fewest_rounds(in);
        bound += lower_bound(in) == best;
        plus += generate_plus(in).length == best;
        rule += generate(in).length == best;
    }
    fmt::print(
        "\nOf {} instances with up to 5 ranks and 3 segments, the optimum is met by: the bound {}, plus {}, rule {}\n",
        count, bound, plus, rule);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Clairvoyant's rounds: the rule, fewer, and the fewest");
    int instances = 2000;
    std::uint64_t seed = 1;
    bool quick = false;
    app.add_option("--instances", instances, "per family")->capture_default_str()->check(CLI::Range(1, 1000000));
    app.add_option("--seed", seed, "of the random instances")->capture_default_str();
    app.add_flag("--quick", quick, "a few instances, to see that it works");
    CLI11_PARSE(app, argc, argv);
    if (quick) instances = 20;
    dice d(seed);
    compare_with_bound(d, instances);
    compare_with_optimum(d, instances);
}
