// Marendic et al. 2016: the rounds of Clairvoyant, and what algorithms cost when all arrive together.
#include "contender.hpp"
#include "page.hpp"

#include <algorithm>
#include <cmath>

namespace reproduction {

using namespace rubato;

namespace {

void lengths() {
    constexpr std::array powers{4, 8, 16, 32, 64, 128, 256, 512};
    std::vector<std::string> head{"P \\ N"};
    for (const int n : powers) head.push_back(fmt::format("{}", n));
    print_head("Lengths, sec. 5.4", head);
    int optimal = 0;
    for (const int p : powers) {
        std::vector<std::string> row{fmt::format("{}", p)};
        for (const int n : powers) {
            const std::int64_t length = schedules::generate({p, static_cast<std::uint32_t>(n)}).length;
            optimal += length == ceil_log2(p) + n - 1 ? 1 : 0;
            row.push_back(fmt::format("{}", length));
        }
        print_row(row);
    }
    print("\n{} of {} are n + N - 1.\n", optimal, powers.size() * powers.size());
}

void table_2() {
    print_head("Table 2", {"rank", "queue", "R1", "R2", "R3", "R4", "R5"});
    print_queues(schedules::generate({4, 4}), 4);
}

std::int64_t late_length(std::int32_t p, std::uint32_t n, time_ns d, time_ns delay) {
    schedules::instance in{p, n, rank(0), d, std::vector<time_ns>(static_cast<std::size_t>(p))};
    in.arrivals.back() = delay;
    return schedules::generate(in).length;
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
    return f.time(costs().alpha * 1e-9, bytes * costs().beta * 1e-9, bytes * costs().gamma * 1e-9);
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

/// The sizes at which butterfly is not slower; the function gives its time relative to Clairvoyant's.
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
                   (evaluate(clairvoyant_formula, size) + more * costs().alpha * 1e-9);
        };
    };
    butterfly_row("Table 3", 4, by_formula(0));
    butterfly_row("Table 3, Clairvoyant with n alpha", 4, by_formula(1));
    const auto whole = [](std::int64_t bytes) {
        const auto segments = static_cast<double>(optimal_segments(curie(), ranks, bytes));
        const double round = costs().alpha + static_cast<double>(bytes) / segments * (costs().beta + costs().gamma);
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
        const double one = costs().alpha + size * (costs().beta + costs().gamma);
        const double halves = 2 * costs().alpha + size * (costs().beta + costs().gamma / 2);
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
    model other = curie();
    std::get<hockney>(other.network).alpha = 2724;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const auto& [name, bytes] = sizes[i];
        const time_ns with_formula = contender("clairvoyant", bytes).balanced();
        std::pair<time_ns, std::uint32_t> best{time_ns::max(), 0};
        const double ideal = ideal_segments(curie(), ranks, bytes);
        for (auto k = static_cast<std::uint32_t>(ideal * 0.9); k <= static_cast<std::uint32_t>(ideal * 1.1) + 1; ++k)
            best = std::min(best, {contender("clairvoyant", bytes, k).balanced(), k});
        print_row({name, fmt::format("{}", printed[i]), fmt::format("{:.1f}", ideal),
                   fmt::format("{:.2f}", ideal_segments(other, ranks, bytes)), fmt::format("{}", measured[i]),
                   fmt::format("{}", best.second),
                   fmt::format("{:.2f}", 100 * (1 - seconds(best.first) / seconds(with_formula)))});
    }
}

}  // namespace

void marendic_2016() {
    lengths();
    table_2();
    late_lengths();
    complexity();
    butterfly_range();
    absorption_by_size();
    segments();
}

}  // namespace reproduction
