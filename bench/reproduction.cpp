// The figures of docs/reproduction.md: what can be computed of the figures and tables of Marendic et al. 2016 and
// Proficz & Ocetkiewicz 2020.
//
//   reproduction [--page FILE] [--pictures FOLDER]
//
// Everything is computed or simulated, nothing is timed, so it is the same on every machine. With --page it prints
// only those lines that the page lacks, and fails if there are any.
#include "panels.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/arrival.hpp"
#include "rubato/clairvoyant.hpp"
#include "rubato/model.hpp"
#include "rubato/simulate.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

namespace {

using namespace rubato;

constexpr std::int32_t ranks = 128;
constexpr int log_ranks = 7;

const model curie = parse_model("curie");
const hockney costs = linear_costs(curie);

struct named_size {
    const char* name;
    std::int64_t bytes;
};
constexpr std::array sizes{
    named_size{"128 KiB", 128 << 10}, named_size{"512 KiB", 512 << 10}, named_size{"2 MiB", 2 << 20},
    named_size{"4 MiB", 4 << 20},     named_size{"40 MiB", 40 << 20},
};

std::string output;

template <class... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(output), format, std::forward<Args>(args)...);
}

void print_row(const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) print("| {} ", cell);
    print("|\n");
}

void print_head(std::string_view heading, const std::vector<std::string>& cells) {
    print("\n## {}\n\n", heading);
    print_row(cells);
    for (std::size_t i = 0; i < cells.size(); ++i) print("|---");
    print("|\n");
}

double seconds(time_ns t) { return static_cast<double>(t.count()) * 1e-9; }

// What is simulated

problem make_problem(const algorithm& a, std::int64_t bytes, std::uint32_t segments) {
    problem p;
    p.what = collective::reduce;
    p.ranks = ranks;
    p.segments = segments;
    if (a.name() == "radix_k") p.radix = {4, 4, 8};
    p.arrivals.assign(ranks, {});
    if (a.has(need::round_time)) p.round_time = segment_time(curie, part_offset(bytes, segments, 1));
    return p;
}

/// One algorithm with one size. Schedules that do not depend on arrivals are made once.
class contender {
public:
    contender(std::string_view name, std::int64_t bytes, std::uint32_t segments = 0)
        : a_(find_algorithm(fmt::format("reduce/{}", name))), bytes_(bytes) {
        segments_ = segments > 0 ? segments : choose_segments();
        balanced_ = run({});
    }

    std::uint32_t segments() const { return segments_; }
    time_ns balanced() const { return balanced_; }

    time_ns run(time_ns delay, rank late = rank(ranks - 1)) {
        problem p = make_problem(a_, bytes_, segments_);
        p.arrivals[static_cast<std::size_t>(late.value)] = delay;
        if (all_.empty() || a_.arrival_aware) all_ = build_all(a_, p);
        const layout l = layout::uniform(bytes_);
        return run_time(p.arrivals, simulate(curie, all_, std::span(&l, 1), p.arrivals).exits);
    }
    double absorption(time_ns delay) { return normalised(rubato::absorption(balanced_, run(delay), delay), balanced_); }

private:
    /// As `rubato sim` does: the formula's for those who plan in rounds, else the best power of two.
    std::uint32_t choose_segments() {
        if (!a_.segmented) return 1;
        if (a_.has(need::round_time)) return optimal_segments(curie, ranks, bytes_);
        static std::map<std::pair<std::string_view, std::int64_t>, std::uint32_t> known;
        std::uint32_t& best = known[{a_.id, bytes_}];
        if (best > 0) return best;
        time_ns fastest = time_ns::max();
        for (segments_ = 1; segments_ <= 1024; segments_ *= 2) {
            all_.clear();
            const time_ns t = run({});
            if (t < fastest) {
                fastest = t;
                best = segments_;
            }
        }
        all_.clear();
        return best;
    }

    const algorithm& a_;
    std::int64_t bytes_;
    std::uint32_t segments_ = 1;
    time_ns balanced_{};
    std::vector<schedule> all_{};
};

// Marendic et al. 2016

void lengths() {
    constexpr std::array powers{4, 8, 16, 32, 64, 128, 256, 512};
    std::vector<std::string> head{"P \\ N"};
    for (const int n : powers) head.push_back(fmt::format("{}", n));
    print_head("Lengths, sec. 5.4", head);
    int optimal = 0;
    for (const int p : powers) {
        std::vector<std::string> row{fmt::format("{}", p)};
        for (const int n : powers) {
            const std::int64_t length = clairvoyant::generate({p, static_cast<std::uint32_t>(n)}).length;
            optimal += length == ceil_log2(p) + n - 1 ? 1 : 0;
            row.push_back(fmt::format("{}", length));
        }
        print_row(row);
    }
    print("\n{} of {} are n + N - 1.\n", optimal, powers.size() * powers.size());
}

void print_queues(const clairvoyant::rounds& r, std::int32_t p) {
    for (std::int32_t who = 0; who < p; ++who) {
        std::vector<std::string> in{fmt::format("{}", who), "I"};
        std::vector<std::string> out{"", "O"};
        for (std::size_t k = 0; k < r.busy.size(); ++k) {
            in.emplace_back();
            out.emplace_back();
            for (const clairvoyant::transfer& t : r.transfers_of(k)) {
                if (t.to == who) in.back() = fmt::format("({},{})", t.from, t.segment);
                if (t.from == who) out.back() = fmt::format("({},{})", t.to, t.segment);
            }
        }
        print_row(in);
        print_row(out);
    }
}

void table_2() {
    print_head("Table 2", {"rank", "queue", "R1", "R2", "R3", "R4", "R5"});
    print_queues(clairvoyant::generate({4, 4}), 4);
}

std::int64_t late_length(std::int32_t p, std::uint32_t n, time_ns d, time_ns delay) {
    clairvoyant::instance in{p, n, rank(0), d, std::vector<time_ns>(static_cast<std::size_t>(p))};
    in.arrivals.back() = delay;
    return clairvoyant::generate(in).length;
}

void late_lengths() {
    using std::chrono::microseconds;
    print_head("Fig. 8 and sec. 7: one late rank", {"P", "N", "d", "delay", "R"});
    const auto row = [](std::int32_t p, std::uint32_t n, time_ns d, time_ns delay) {
        print_row({fmt::format("{}", p), fmt::format("{}", n), fmt::format("{} us", d / microseconds(1)),
                   fmt::format("{} ns", delay.count()), fmt::format("{}", late_length(p, n, d, delay))});
    };
    row(4, 4, microseconds(1), time_ns(5000));
    row(4, 4, microseconds(1), time_ns(5001));
    row(128, 40, microseconds(643), std::chrono::milliseconds(60));
}

/// Table 3, in seconds: alpha, bytes times beta, bytes times gamma.
struct formula {
    const char* name;
    double (*time)(double a, double b, double g);
};
constexpr double n = log_ranks;
constexpr double most = (ranks - 1.) / ranks;
double pipeline(double rounds, double a, double per_vector) {
    return rounds * a + 2 * std::sqrt(rounds * a * per_vector) + per_vector;
}
constexpr formula clairvoyant_formula{"clairvoyant",
                                      [](double a, double b, double g) { return pipeline(n - 1, a, b + g); }};
constexpr formula butterfly_formula{"butterfly",
                                    [](double a, double b, double g) { return 2 * n * a + most * (2 * b + g); }};
constexpr std::array table_3{
    formula{"binomial", [](double a, double b, double g) { return n * (a + b + g); }},
    butterfly_formula,
    formula{"ring", [](double a, double b, double g) { return (ranks - 1 + n) * a + most * (2 * b + g); }},
    formula{"radix_k", [](double a, double b, double g) { return (3 + 3 + 7 + n) * a + most * (2 * b + g); }},
    formula{"chain", [](double a, double b, double g) { return pipeline(ranks - 2, a, b + g); }},
    formula{"two_tree", [](double a, double b,
                           double g) { return 4 * (n - 1) * a + 4 * std::sqrt((n - 1) * a * b / 2) + b + 2 * g; }},
    clairvoyant_formula,
};

double evaluate(const formula& f, double bytes) {
    return f.time(costs.alpha * 1e-9, bytes * costs.beta * 1e-9, bytes * costs.gamma * 1e-9);
}

void complexity() {
    std::vector<std::string> head{"algorithm"};
    for (const named_size& s : sizes) head.emplace_back(s.name);
    print_head("Table 3: microseconds, formula / simulation", head);
    std::vector<std::vector<std::string>> relative;
    for (const formula& f : table_3) {
        std::vector<std::string> row{f.name};
        relative.push_back(row);
        for (const auto& [name, bytes] : sizes) {
            const auto size = static_cast<double>(bytes);
            const double computed = evaluate(f, size);
            const double simulated = seconds(contender(f.name, bytes).balanced());
            row.push_back(fmt::format("{:.1f} / {:.1f}", computed * 1e6, simulated * 1e6));
            relative.back().push_back(fmt::format("{:.3f} / {:.3f}", computed / evaluate(clairvoyant_formula, size),
                                                  simulated / seconds(contender("clairvoyant", bytes).balanced())));
        }
        print_row(row);
    }
    print_head("Fig. 10: run time relative to Clairvoyant's, formula / simulation", head);
    for (const std::vector<std::string>& row : relative) print_row(row);
}

/// Where butterfly is no slower, by a function of the size that gives its time relative to Clairvoyant's.
template <class Ratio>
void butterfly_row(const char* how, std::int64_t step, Ratio ratio) {
    std::int64_t first = 0;
    std::int64_t last = 0;
    int count = 0;
    std::pair<double, std::int64_t> least{2, 0};
    for (std::int64_t bytes = step; bytes <= 160'000; bytes += step) {
        const double r = ratio(bytes);
        least = std::min(least, {r, bytes});
        if (r > 1) continue;
        if (count++ == 0) first = bytes;
        last = bytes;
    }
    print_row({how, count == 0 ? "nowhere" : fmt::format("{} to {}", first, last),
               fmt::format("{:.3f} at {}", least.first, least.second)});
}

void butterfly_range() {
    print_head("Where butterfly is no slower than Clairvoyant, 128 ranks", {"computed from", "bytes", "least ratio"});
    const auto by_formula = [](double more) {
        return [more](std::int64_t bytes) {
            const auto size = static_cast<double>(bytes);
            return evaluate(butterfly_formula, size) /
                   (evaluate(clairvoyant_formula, size) + more * costs.alpha * 1e-9);
        };
    };
    butterfly_row("Table 3", 4, by_formula(0));
    butterfly_row("Table 3, Clairvoyant with n alpha", 4, by_formula(1));
    const auto whole = [](std::int64_t bytes) {
        const auto segments = static_cast<double>(optimal_segments(curie, ranks, bytes));
        const double round = costs.alpha + static_cast<double>(bytes) / segments * (costs.beta + costs.gamma);
        return evaluate(butterfly_formula, static_cast<double>(bytes)) / ((n - 1 + segments) * round * 1e-9);
    };
    butterfly_row("n + N - 1 rounds, whole N", 4, whole);
    butterfly_row("simulated schedules", 512, [](std::int64_t bytes) {
        return seconds(contender("butterfly", bytes).balanced()) / seconds(contender("clairvoyant", bytes).balanced());
    });
}

void absorption_by_size() {
    print_head("Fig. 6: maximum normalised absorption, %",
               {"bytes", "N", "6 / (N + 6)", "Prop. 3.7, Table 3", "simulated"});
    for (const auto& [name, bytes] :
         {named_size{"1 KiB", 1 << 10}, named_size{"10 KiB", 10 << 10}, named_size{"32 KiB", 32 << 10}, sizes[0],
          sizes[1], sizes[2], sizes[3], sizes[4]}) {
        contender c("clairvoyant", bytes);
        const auto size = static_cast<double>(bytes);
        const double one = costs.alpha + size * (costs.beta + costs.gamma);
        const double halves = 2 * costs.alpha + size * (costs.beta + costs.gamma / 2);
        const double limit = 1 - std::min(one, halves) * 1e-9 / evaluate(clairvoyant_formula, size);
        print_row({name, fmt::format("{}", c.segments()), fmt::format("{:.1f}", 600. / (c.segments() + 6)),
                   fmt::format("{:.1f}", 100 * limit), fmt::format("{:.1f}", 100 * c.absorption(5 * c.balanced()))});
    }
}

void segments() {
    constexpr std::array printed{13.2, 27.3, 54.7, 77.39, 244.75};
    constexpr std::array measured{16, 8, 16, 16, 40};
    print_head("Table 8: optimal number of segments",
               {"size", "their formula", "ours", "with alpha = 2.724 us", "their measurement", "best simulated",
                "its gain over the formula's, %"});
    model other = curie;
    std::get<hockney>(other.network).alpha = 2724;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const auto& [name, bytes] = sizes[i];
        const time_ns with_formula = contender("clairvoyant", bytes).balanced();
        std::pair<time_ns, std::uint32_t> best{time_ns::max(), 0};
        const double ideal = ideal_segments(curie, ranks, bytes);
        for (auto k = static_cast<std::uint32_t>(ideal * 0.9); k <= static_cast<std::uint32_t>(ideal * 1.1) + 1; ++k)
            best = std::min(best, {contender("clairvoyant", bytes, k).balanced(), k});
        print_row({name, fmt::format("{}", printed[i]), fmt::format("{:.1f}", ideal),
                   fmt::format("{:.2f}", ideal_segments(other, ranks, bytes)), fmt::format("{}", measured[i]),
                   fmt::format("{}", best.second),
                   fmt::format("{:.2f}", 100 * (1 - seconds(best.first) / seconds(with_formula)))});
    }
}

constexpr std::array contenders{"clairvoyant", "clairvoyant_plus", "butterfly", "radix_k",
                                "ring",        "binomial",         "two_tree",  "chain",
                                "binary",      "knomial",          "linear"};
constexpr std::size_t drawn = 8;  // the others are far off

/// Rank 127 is late by 0 to 5 times what Clairvoyant takes if nobody is.
void late_rank(const std::string& pictures) {
    constexpr int steps = 40;
    constexpr double steps_per_unit = 8;
    constexpr std::array shown{0, 1, 2, 4, 8, 16, 40};
    std::vector<panel> run_times;
    std::vector<panel> absorptions;
    int faster = 0;
    int measured = 0;
    for (const auto& [name, bytes] : sizes) {
        contender reference("clairvoyant", bytes);
        const auto delay = [&](int k) { return reference.balanced() * k / static_cast<int>(steps_per_unit); };
        std::vector<time_ns> compared;
        for (int k = 0; k <= steps; ++k) compared.push_back(reference.run(delay(k)));
        std::vector<std::string> head{"algorithm", "N"};
        for (const char* text : {"0", "1/8", "1/4", "1/2", "1", "2", "5", "absorbed, %"}) head.emplace_back(text);
        print_head(fmt::format("Figs 12 and 13, {}: t = {}", name, format_time(reference.balanced())), head);
        run_times.push_back({name, {}});
        absorptions.push_back({name, {}});
        for (std::size_t i = 0; i < contenders.size(); ++i) {
            contender c(contenders[i], bytes);
            std::vector<std::string> row{contenders[i], fmt::format("{}", c.segments())};
            curve relative{contenders[i], {}};
            curve absorbed{contenders[i], {}};
            for (int k = 0; k <= steps; ++k) {
                const time_ns t = c.run(delay(k));
                const time_ns other = compared[static_cast<std::size_t>(k)];
                if (i > 0) ++measured;
                if (t < other) ++faster;
                relative.points.emplace_back(k / steps_per_unit, seconds(t) / seconds(other));
                absorbed.points.emplace_back(k / steps_per_unit,
                                             normalised(absorption(c.balanced(), t, delay(k)), c.balanced()));
            }
            for (const int k : shown)
                row.push_back(fmt::format("{:.3f}", relative.points[static_cast<std::size_t>(k)].second));
            row.push_back(fmt::format("{:.1f}", 100 * absorbed.points.back().second));
            print_row(row);
            if (i >= drawn) continue;
            run_times.back().curves.push_back(std::move(relative));
            absorptions.back().curves.push_back(std::move(absorbed));
        }
    }
    print("\nOf {} such runs of the others, {} are faster than Clairvoyant.\n", measured, faster);
    if (pictures.empty()) return;
    const axis delays{"delay of rank 127, in t", {0, 1, 2, 3, 4, 5}};
    const std::string setting = "128 ranks, model curie, simulated; t: Clairvoyant's run time when all arrive together";
    std::ofstream(pictures + "/reproduction-run-time.svg")
        << draw_panels("Run time with one late rank, relative to Clairvoyant's", setting, delays,
                       {"relative run time", {0.8, 1, 1.25, 1.5, 2, 3, 4, 6, 8}, true}, run_times);
    std::ofstream(pictures + "/reproduction-absorption.svg")
        << draw_panels("How much of one rank's delay is absorbed", setting, delays,
                       {"normalised absorption", {0, 0.1, 0.2, 0.3, 0.4}}, absorptions);
}

void late_root() {
    std::vector<std::string> head{"algorithm"};
    for (const named_size& s : sizes) head.emplace_back(s.name);
    print_head("The root late by t/2: run time relative to Clairvoyant's", head);
    for (const char* name : {"clairvoyant_plus", "two_tree", "chain", "butterfly"}) {
        std::vector<std::string> row{name};
        for (const auto& [size, bytes] : sizes) {
            contender reference("clairvoyant", bytes);
            const time_ns delay = reference.balanced() / 2;
            row.push_back(fmt::format("{:.3f}", seconds(contender(name, bytes).run(delay, rank(0))) /
                                                    seconds(reference.run(delay, rank(0)))));
        }
        print_row(row);
    }
}

/// The formula's number of segments is made for arrivals together.
void segments_when_late() {
    constexpr std::array delays{1, 2, 4, 8, 20};  // quarters of t
    print_head(
        "Clairvoyant with the power of two of segments that suits the delay: N, run time relative to formula's N",
        {"size", "formula's N", "1/4", "1/2", "1", "2", "5"});
    for (const auto& [name, bytes] : sizes) {
        contender reference("clairvoyant", bytes);
        std::vector<contender> others;
        for (std::uint32_t k = 1; k <= 2 * reference.segments(); k *= 2) others.emplace_back("clairvoyant", bytes, k);
        std::vector<std::string> row{name, fmt::format("{}", reference.segments())};
        for (const int quarters : delays) {
            const time_ns delay = reference.balanced() * quarters / 4;
            std::pair<time_ns, std::uint32_t> best{time_ns::max(), 0};
            for (contender& c : others) best = std::min(best, {c.run(delay), c.segments()});
            row.push_back(fmt::format("{}: {:.3f}", best.second, seconds(best.first) / seconds(reference.run(delay))));
        }
        print_row(row);
    }
}

/// When everything but the late rank's part is done: what is left.
void very_late() {
    std::vector<std::string> head{"algorithm"};
    for (const named_size& s : sizes) head.emplace_back(s.name);
    print_head("After a very late rank (200 t): microseconds from its arrival to the end", head);
    const auto row = [](std::string_view label, std::string_view name, std::uint32_t fixed) {
        std::vector<std::string> cells{std::string(label)};
        for (const auto& [size, bytes] : sizes) {
            const time_ns delay = 200 * contender("clairvoyant", bytes).balanced();
            cells.push_back(fmt::format("{:.1f}", seconds(contender(name, bytes, fixed).run(delay) - delay) * 1e6));
        }
        print_row(cells);
    };
    for (const char* name : contenders) row(name, name, 0);
    row("clairvoyant, N = 1", "clairvoyant", 1);
    row("clairvoyant, N = 2", "clairvoyant", 2);
}

// Proficz & Ocetkiewicz 2020

void extra_state() {
    print_head("Sec. 4.2: P = N = 4, a = (0, 0, 0, 1.1), d = 1", {"rank", "queue", "R1", "R2", "R3", "R4", "R5", "R6"});
    print_queues(clairvoyant::generate({4, 4, rank(0), time_ns(10), {time_ns(0), time_ns(0), time_ns(0), time_ns(11)}}),
                 4);
}

void one_per_round() {
    constexpr std::int32_t p = 64;
    constexpr std::int32_t shown = 13;
    constexpr std::int64_t rounds = 11;
    clairvoyant::instance in{p, 6, rank(0), time_ns(1), {}};
    for (std::int32_t r = 0; r < p; ++r) in.arrivals.emplace_back(r);
    const clairvoyant::rounds made = clairvoyant::generate(in);
    std::vector<std::string> head{""};
    for (std::int32_t r = 0; r < shown; ++r) head.push_back(fmt::format("p{}", r));
    print_head("Fig. 1: the round in which a process sends a segment, one arriving per round, N = 6", head);
    for (std::uint32_t s = 0; s < in.segments; ++s) {
        std::vector<std::string> row(shown + 1);
        row[0] = fmt::format("s{}", s);
        for (std::size_t k = 0; k < made.busy.size() && made.busy[k].number < rounds; ++k)
            for (const clairvoyant::transfer& t : made.transfers_of(k))
                if (t.segment == s && t.from < shown)
                    row[static_cast<std::size_t>(t.from) + 1] = fmt::format("{}", made.busy[k].number + 1);
        print_row(row);
    }
}

/// The lines, but for headings, that are not in the page.
std::string missing_in(const std::string& page) {
    std::ifstream file(page);
    if (!file) throw error(fmt::format("cannot read '{}'", page), "there is no such file", "name the page");
    std::set<std::string> there;
    for (std::string line; std::getline(file, line);) there.insert(line);
    std::string missing;
    std::istringstream ours(output);
    for (std::string line; std::getline(ours, line);)
        if (!line.starts_with('#') && !there.contains(line)) missing += line + '\n';
    return missing;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app(
        "Prints the figures of docs/reproduction.md: nothing is timed, so they are the same on every machine.");
    std::string page;
    std::string pictures;
    app.add_option("--page", page, "print only the lines that this file lacks; fails if there are any");
    app.add_option("--pictures", pictures, "draw the pictures into this folder");
    CLI11_PARSE(app, argc, argv);
    try {
        lengths();
        table_2();
        late_lengths();
        complexity();
        butterfly_range();
        absorption_by_size();
        segments();
        late_rank(pictures);
        late_root();
        segments_when_late();
        very_late();
        extra_state();
        one_per_round();
        if (!page.empty()) output = missing_in(page);
    } catch (const error& e) {
        fmt::print(stderr, "reproduction: {}\n", e.what());
        return 2;
    }
    fmt::print("{}", output);
    return !page.empty() && !output.empty() ? 1 : 0;
}
