// Whether counts are what chance makes of equal shares, and tests of what intervals and comparisons of medians suppose:
// that samples are independent and that nothing changes while they are taken.
#include "base/core/splitmix.hpp"
#include "base/statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace rubato::base {
namespace {

struct moments {
    double count = 0;
    double mean = 0;
    double squares = 0;  ///< sum of the squared distances from the mean
};

/// Counted from the first sample, so that those of equal samples are exact.
moments moments_of(std::span<const double> v) {
    if (v.empty()) return {};
    moments m{static_cast<double>(v.size())};
    double sum = 0;
    for (const double x : v) sum += x - v[0];
    m.mean = v[0] + sum / m.count;
    for (const double x : v) m.squares += (x - m.mean) * (x - m.mean);
    return m;
}

/// A quotient; 0/0 is 0.
double quotient(double a, double b) {
    if (b != 0) return a / b;
    return a == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), a);
}

/// The regularised incomplete beta function I_x(a, b), by its continued fraction. Lentz's method multiplies quotients
/// of successive numerators and denominators; it needs about as many steps as the root of the larger parameter.
double incomplete_beta(double a, double b, double x) {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(b, a, 1 - x);  // where it converges quickly
    constexpr double smallest = 1e-300;
    constexpr int most_steps = 100'000;
    const auto nonzero = [](double v) { return std::abs(v) < smallest ? smallest : v; };
    double above = 1;
    double below = 1 / nonzero(1 - (a + b) / (a + 1) * x);
    double fraction = below;
    for (int m = 1; m < most_steps; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double change = 1;
        for (const double term : {even, odd}) {
            below = 1 / nonzero(1 + term * below);
            above = nonzero(1 + term / above);
            change = above * below;
            fraction *= change;
        }
        if (std::abs(change - 1) < std::numeric_limits<double>::epsilon()) break;
    }
    const double scale = std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b);
    return std::exp(scale + a * std::log(x) + b * std::log1p(-x)) / a * fraction;
}

/// The chance of an F above `f`; of a t beyond plus or minus the root of `f` if `between` is 1.
double chance_above(double f, double between, double within) {
    return incomplete_beta(within / 2, between / 2, within / (within + between * f));
}

constexpr int random_draws = 2000;

/// Without the constant parts of chi-square.
double squares(std::span<const std::size_t> counts) {
    double sum = 0;
    for (const std::size_t c : counts) sum += static_cast<double>(c) * static_cast<double>(c);
    return sum;
}

}  // namespace

test_result runs_test(std::span<const double> samples) {
    if (samples.empty()) return {};
    const double m = median(samples);
    double above = 0;
    double below = 0;
    double runs = 0;
    double last = m;
    for (const double s : samples) {
        if (s == m) continue;
        ++(s > m ? above : below);
        if (last == m || (last > m) != (s > m)) ++runs;
        last = s;
    }
    const double n = above + below;
    const double pairs = 2 * above * below;
    if (pairs <= n) return {};  // at most one of each: every order is equally likely
    const double expected = pairs / n + 1;
    const double z = (runs - expected) / std::sqrt(pairs * (pairs - n) / (n * n * (n - 1)));
    return {z, std::erfc(std::abs(z) / std::numbers::sqrt2)};
}

test_result levene_test(std::span<const std::span<const double>> groups) {
    std::vector<moments> distances;
    double count = 0;
    for (const std::span<const double> g : groups) {
        if (g.empty()) continue;
        std::vector<double> d(g.begin(), g.end());
        const double m = median(g);
        for (double& x : d) x = std::abs(x - m);
        distances.push_back(moments_of(d));
        count += distances.back().count;
    }
    const double kinds = static_cast<double>(distances.size());
    if (kinds < 2 || count <= kinds) return {};
    double sum = 0;
    for (const moments& d : distances) sum += d.count * (d.mean - distances[0].mean);
    const double mean = distances[0].mean + sum / count;
    double between = 0;
    double within = 0;
    for (const moments& d : distances) {
        between += d.count * (d.mean - mean) * (d.mean - mean);
        within += d.squares;
    }
    const double f = quotient(between / (kinds - 1), within / (count - kinds));
    return {f, chance_above(f, kinds - 1, count - kinds)};
}

linear_trend fit_trend(std::span<const double> samples) {
    if (samples.size() < 3) return {};
    const moments m = moments_of(samples);
    const double centre = (m.count - 1) / 2;
    double products = 0;
    double position = -centre;
    for (const double s : samples) products += position++ * (s - m.mean);
    const double slope = products / (m.count * (m.count * m.count - 1) / 12);
    const double explained = slope * products;
    // Rounding can make the residual of a perfect line negative.
    const double f = quotient(explained, std::max(m.squares - explained, 0.) / (m.count - 2));
    return {slope, chance_above(f, 1, m.count - 2), quotient(slope * (m.count - 1), std::abs(m.mean))};
}

double outlier_share(std::span<const double> samples) {
    if (samples.empty()) return 0;
    const double lower = quantile(samples, 0.25);
    const double upper = quantile(samples, 0.75);
    const double reach = 1.5 * (upper - lower);
    const auto outside = [&](double s) { return s < lower - reach || s > upper + reach; };
    return static_cast<double>(std::ranges::count_if(samples, outside)) / static_cast<double>(samples.size());
}

std::vector<std::string_view> remarks(std::span<const double> samples) {
    if (samples.size() < fewest_for_interval) return {"few"};
    if (samples.size() < fewest_for_remarks) return {};
    std::vector<std::string_view> found;
    const test_result runs = runs_test(samples);
    if (runs.statistic < 0 && runs.p / 2 < remarkable_p) found.emplace_back("correlated");
    const linear_trend t = fit_trend(samples);
    if (t.p < remarkable_p && std::abs(t.drift) > remarkable_drift) found.emplace_back("drifting");
    const std::span<const double> halves[] = {samples.first(samples.size() / 2), samples.last(samples.size() / 2)};
    if (levene_test(halves).p < remarkable_p) found.emplace_back("unsteady");
    const double most = std::max(remarkable_outliers, unremarkable_outliers / static_cast<double>(samples.size()));
    if (outlier_share(samples) > most) found.emplace_back("outliers");
    return found;
}

double chance_of_at_least(std::size_t hits, std::size_t trials, double probability) {
    if (hits == 0) return 1;
    if (hits > trials) return 0;
    return incomplete_beta(static_cast<double>(hits), static_cast<double>(trials - hits) + 1, probability);
}

test_result uniformity_test(std::span<const std::size_t> counts, std::uint64_t seed) {
    const std::size_t all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    if (all == 0 || counts.size() < 2) return {};
    const double kinds = static_cast<double>(counts.size());
    const double n = static_cast<double>(all);
    const double seen = squares(counts);
    splitmix random(seed);
    std::vector<std::size_t> drawn(counts.size());
    int beyond = 0;
    for (int i = 0; i < random_draws; ++i) {
        std::ranges::fill(drawn, 0);
        for (std::size_t k = 0; k < all; ++k) ++drawn[random.below(counts.size())];
        if (squares(drawn) >= seen) ++beyond;
    }
    return {seen * kinds / n - n, static_cast<double>(beyond + 1) / (random_draws + 1)};
}

}  // namespace rubato::base
