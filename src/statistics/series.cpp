// Tests of what intervals and comparisons of medians suppose: that samples are independent and that nothing changes
// while they are taken.
#include "statistics/incomplete_beta.hpp"
#include "statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace rubato {
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

/// The chance of an F above `f`; of a t beyond plus or minus the root of `f` if `between` is 1.
double chance_above(double f, double between, double within) {
    return incomplete_beta(within / 2, between / 2, within / (within + between * f));
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

}  // namespace rubato
