// How long does it take to make Clairvoyant's rounds? Proficz & Ocetkiewicz 2020, Table 1, with the generator that is
// used beside the literature's three, and how that one scales.
//
//   clairvoyant_generation [--instances K] [--seconds S] [--sizes 64,512] [--json FILE] [--quick]
//
// Instances are those of their sec. 5.7. All generators run on each, in random order, and must give the same rounds.
// Times are of the thread's processor time, because machines are shared.
#include "generators/baselines.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

namespace {

using namespace rubato;
using namespace rubato::schedules;

struct generator {
    const char* name;
    rounds (*make)(const instance&);
};
constexpr std::array generators{
    generator{"linear", generate_linear},
    generator{"heap", generate_pairing_heap},
    generator{"tree", generate_segment_tree},
    generator{"rubato", [](const instance& in) { return generate(in); }},
    generator{"one rank", [](const instance& in) { return generate(in, in.root); }},
};
constexpr std::size_t linear = 0, heap = 1, tree = 2, ours = 3, one_rank = 4;

enum class pattern { uniform, skewed, balanced };
constexpr std::array pattern_names{"uniform", "skewed", "balanced"};

struct printed_row {
    std::int32_t size;
    std::array<double, 2> linear_to_tree;  // uniform, skewed
    std::array<double, 2> heap_to_tree;
};
constexpr std::array table_1{
    printed_row{4, {0.49, 0.45}, {1.84, 2.45}},     printed_row{8, {0.62, 0.61}, {3.07, 5.68}},
    printed_row{16, {0.73, 0.61}, {3.53, 5.34}},    printed_row{32, {0.97, 0.67}, {5.72, 8.60}},
    printed_row{64, {1.26, 0.64}, {8.17, 14.37}},   printed_row{128, {2.00, 0.61}, {12.46, 21.04}},
    printed_row{256, {4.05, 0.64}, {15.58, 22.77}}, printed_row{512, {19.33, 1.36}, {43.64, 82.98}},
};

struct cell {
    pattern arrivals;
    std::int32_t ranks;
    std::uint32_t segments;
};

struct options {
    std::size_t instances = 250;
    double seconds = 20;
    std::vector<std::int32_t> sizes{};
    std::string json{};
    bool quick = false;
};

/// A unit of the paper's time is a millisecond.
instance draw(const cell& c, std::mt19937_64& random) {
    const auto between = [&](double low, double high) {
        return time_ns(std::llround(1e6 * std::uniform_real_distribution(low, high)(random)));
    };
    instance in{c.ranks, c.segments, rank(0), between(0.001, 1), {}};
    in.arrivals.resize(static_cast<std::size_t>(c.ranks));
    if (c.arrivals == pattern::skewed) in.arrivals.back() = std::chrono::milliseconds(c.segments);
    if (c.arrivals == pattern::uniform) {
        for (time_ns& t : in.arrivals) t = between(0, c.ranks + 0.1);
        in.root = rank(std::uniform_int_distribution(0, c.ranks - 1)(random));
    }
    return in;
}

double now() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct samples {
    std::array<std::vector<double>, generators.size()> seconds{};  // per instance
    std::vector<double> messages{};
};

samples measure(const cell& c, std::span<const std::size_t> which, const options& o) {
    std::mt19937_64 random(static_cast<std::uint64_t>(c.ranks) * 3 + static_cast<std::uint64_t>(c.arrivals));
    std::array<double, generators.size()> last{};
    std::vector<std::size_t> order(which.begin(), which.end());
    samples result;
    const double begin = now();
    // The first instance warms up and shows how often a fast generator must run; a slow one runs once.
    bool warm = c.ranks >= 256;
    while (result.messages.size() < o.instances && (result.messages.size() < 5 || now() - begin < o.seconds)) {
        if (isatty(STDERR_FILENO) != 0)
            fmt::print(stderr, "\r{} {} x {}: {}   ", pattern_names[static_cast<std::size_t>(c.arrivals)], c.ranks,
                       c.segments, result.messages.size());
        const instance in = draw(c, random);
        rounds first;
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t g : order) {
            const int repeats = last[g] > 0 ? std::clamp(static_cast<int>(5e-5 / last[g]), 1, 100) : 1;
            rounds made;
            const double start = now();
            for (int k = 0; k < repeats; ++k) made = generators[g].make(in);
            last[g] = (now() - start) / repeats;
            if (warm) result.seconds[g].push_back(last[g]);
            if (g == one_rank) continue;
            if (first.length == 0)
                first = std::move(made);
            else if (made != first)
                throw error(fmt::format("{} differs from another", generators[g].name),
                            "all generators follow one rule", "see the test of that name");
        }
        if (warm) result.messages.push_back(static_cast<double>(first.transfers.size()));
        warm = true;
    }
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r{:60}\r", "");
    return result;
}

struct estimate {
    double value = 0;
    double low = 0;  // 99 %
    double high = 0;
};

double sum(const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.); }

/// Student's t by its expansion around the normal quantile.
estimate mean(const std::vector<double>& v) {
    const auto n = static_cast<double>(v.size());
    const double m = sum(v) / n;
    double squares = 0;
    for (const double x : v) squares += (x - m) * (x - m);
    const double f = n - 1;
    const double z = 2.5758;
    const double t =
        z + (std::pow(z, 3) + z) / (4 * f) + (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / (96 * f * f);
    const double half = t * std::sqrt(squares / f / n);
    return {m, m - half, m + half};
}

/// Of means; the interval is the middle 99 % over resampled instances.
estimate ratio(const std::vector<double>& a, const std::vector<double>& b) {
    std::mt19937_64 random(1);
    std::vector<double> ratios(2000);
    for (double& r : ratios) {
        double x = 0;
        double y = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
            const std::size_t j = random() % a.size();
            x += a[j];
            y += b[j];
        }
        r = x / y;
    }
    std::ranges::sort(ratios);
    return {sum(a) / sum(b), ratios[10], ratios[1989]};
}

std::string digits(double x) { return fmt::format("{:.{}f}", x, x >= 100 ? 0 : x >= 10 ? 1 : 2); }

std::string show_time(const estimate& e) {
    const auto [unit, name] = e.value < 1e-3  ? std::pair(1e-6, "us")
                              : e.value < 1.0 ? std::pair(1e-3, "ms")
                                              : std::pair(1.0, "s");
    return fmt::format("{} +-{} {}", digits(e.value / unit), digits((e.high - e.value) / unit), name);
}
std::string show(const estimate& e) { return fmt::format("{:.2f} ({:.2f}-{:.2f})", e.value, e.low, e.high); }
nlohmann::json to_json(const estimate& e) { return {{"value", e.value}, {"low", e.low}, {"high", e.high}}; }

nlohmann::json describe(const cell& c, const samples& s) {
    return {{"pattern", pattern_names[static_cast<std::size_t>(c.arrivals)]},
            {"ranks", c.ranks},
            {"segments", c.segments},
            {"instances", s.messages.size()},
            {"messages", mean(s.messages).value}};
}

nlohmann::json compare(pattern arrivals, const options& o) {
    nlohmann::json cells = nlohmann::json::array();
    std::vector<std::vector<std::string>> rows{{"P = N", "instances", "linear", "heap", "tree", "rubato", "linear/tree",
                                                "printed", "heap/tree", "printed", "linear/rubato", "heap/rubato",
                                                "tree/rubato"}};
    for (const printed_row& printed : table_1) {
        if (std::ranges::find(o.sizes, printed.size) == o.sizes.end()) continue;
        const cell c{arrivals, printed.size, static_cast<std::uint32_t>(printed.size)};
        const samples s = measure(c, std::array{linear, heap, tree, ours}, o);
        nlohmann::json out = describe(c, s);
        std::vector<std::string> row{std::to_string(printed.size), std::to_string(s.messages.size())};
        for (const std::size_t g : {linear, heap, tree, ours}) {
            const estimate e = mean(s.seconds[g]);
            row.push_back(show_time(e));
            out["seconds"][generators[g].name] = to_json(e);
        }
        const auto add = [&](std::size_t a, std::size_t b) {
            const estimate e = ratio(s.seconds[a], s.seconds[b]);
            row.push_back(show(e));
            out["ratios"][fmt::format("{}/{}", generators[a].name, generators[b].name)] = to_json(e);
        };
        const auto p = static_cast<std::size_t>(arrivals);
        add(linear, tree);
        row.push_back(fmt::format("{:.2f}", printed.linear_to_tree[p]));
        add(heap, tree);
        row.push_back(fmt::format("{:.2f}", printed.heap_to_tree[p]));
        for (const std::size_t g : {linear, heap, tree}) add(g, ours);
        rows.push_back(row);
        cells.push_back(out);
    }
    fmt::print("\n{} arrivals: mean times and ratios of means, with 99 % intervals, beside the printed ratios\n\n",
               pattern_names[static_cast<std::size_t>(arrivals)]);
    print_table(rows);
    std::fflush(stdout);
    return cells;
}

nlohmann::json scale(const options& o) {
    using enum pattern;
    std::vector<cell> cells;
    for (const std::int32_t size : {64, 128, 256, 512})
        for (const pattern p : {uniform, balanced}) cells.push_back({p, size, static_cast<std::uint32_t>(size)});
    for (const std::int32_t ranks : {1024, 2048, 4096})
        for (const pattern p : {uniform, balanced}) cells.push_back({p, ranks, 512});
    for (const pattern p : {uniform, skewed, balanced}) cells.push_back({p, 65536, 16});
    if (o.quick) cells = {{uniform, 64, 16}, {balanced, 64, 16}};
    nlohmann::json out = nlohmann::json::array();
    std::vector<std::vector<std::string>> rows{
        {"pattern", "P", "N", "instances", "messages", "time", "ns per message", "as one rank needs it"}};
    for (const cell& c : cells) {
        samples s = measure(c, std::array{ours, one_rank}, o);
        const auto per_message = [&](std::size_t g) {
            const estimate e = ratio(s.seconds[g], s.messages);
            return estimate{1e9 * e.value, 1e9 * e.low, 1e9 * e.high};
        };
        const auto text = [](const estimate& e) {
            return fmt::format("{:.1f} ({:.1f}-{:.1f})", e.value, e.low, e.high);
        };
        const estimate ns = per_message(ours);
        const estimate alone = per_message(one_rank);
        const estimate time = mean(s.seconds[ours]);
        rows.push_back({pattern_names[static_cast<std::size_t>(c.arrivals)], std::to_string(c.ranks),
                        std::to_string(c.segments), std::to_string(s.messages.size()),
                        fmt::format("{:.0f}", mean(s.messages).value), show_time(time), text(ns), text(alone)});
        nlohmann::json row = describe(c, s);
        row["seconds"] = to_json(time);
        row["ns_per_message"] = to_json(ns);
        row["ns_per_message_one_rank"] = to_json(alone);
        out.push_back(row);
    }
    fmt::print("\nThe generator that is used: nanoseconds per message\n\n");
    print_table(rows);
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Times of the generators of Clairvoyant's rounds");
    options o;
    app.add_option("--instances", o.instances, "at most so many per cell")
        ->capture_default_str()
        ->check(CLI::Range(2, 100000));
    app.add_option("--seconds", o.seconds, "per cell, but at least 5 instances")->capture_default_str();
    app.add_option("--sizes", o.sizes, "rows of Table 1 and nothing else; without: all of them, and scaling")
        ->delimiter(',')
        ->check(CLI::IsMember({4, 8, 16, 32, 64, 128, 256, 512}));
    app.add_option("--json", o.json, "write the figures to this file");
    app.add_flag("--quick", o.quick, "a few small instances, to see that it works");
    CLI11_PARSE(app, argc, argv);
    const bool scaling = o.sizes.empty();
    if (scaling)
        for (const printed_row& row : table_1)
            if (!o.quick || row.size <= 16) o.sizes.push_back(row.size);
    if (o.quick) o.instances = 3;
    try {
        nlohmann::json out{{"compiler", __VERSION__}, {"unit of time", "1 ms"}};
        char host[256] = "";
        gethostname(host, sizeof host - 1);
        out["host"] = host;
        for (const pattern p : {pattern::uniform, pattern::skewed})
            out["table_1"][pattern_names[static_cast<std::size_t>(p)]] = compare(p, o);
        if (scaling) out["scaling"] = scale(o);
        if (!o.json.empty() && !(std::ofstream(o.json) << out.dump(1) << '\n'))
            throw error(fmt::format("cannot write '{}'", o.json), "the file cannot be opened", "give another name");
    } catch (const std::exception& e) {
        fmt::print(stderr, "clairvoyant_generation: {}\n", e.what());
        return 2;
    }
}
