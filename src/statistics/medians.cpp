// Medians, their ratios, and bootstrap intervals of both.
//
// Intervals are percentiles of the resampled medians. BCa intervals need the jackknife, which fails for a median:
// leaving out one sample moves it to a neighbour, whatever the distribution.
#include "statistics/statistics.hpp"

#include "statistics/permutation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rubato {
namespace {

constexpr std::size_t resamples = 2000;

std::vector<double> in_order(std::span<const double> samples) {
    if (samples.empty())
        throw error("a statistic of no samples", "nothing can be said about them", "measure at least once");
    for (const double s : samples)
        if (!std::isfinite(s)) throw error(fmt::format("sample {}", s), "samples are numbers", "leave it out");
    std::vector<double> v(samples.begin(), samples.end());
    std::ranges::sort(v);
    return v;
}

std::vector<double> times_in_order(std::span<const double> samples) {
    std::vector<double> v = in_order(samples);
    if (v.front() < 0)
        throw error(fmt::format("sample {}", v.front()), "ratios are taken of times, which are not negative",
                    "compare what was measured, not differences");
    return v;
}

/// The range of `v`, which is reordered, without a share at either end.
estimate with_interval(double value, std::vector<double>& v, double share) {
    const auto at = [&v](std::size_t k) {
        const auto i = v.begin() + static_cast<std::ptrdiff_t>(k);
        std::ranges::nth_element(v, i);
        return *i;
    };
    const auto outside = static_cast<std::size_t>(static_cast<double>(v.size()) * share);
    return {value, at(outside), at(v.size() - 1 - outside)};
}

/// The share to leave out at either end for 95 %. Resamples of n samples spread less than their distribution, by
/// 1 - 1/n, and Student's limits are wider than normal ones (Hesterberg 2015, expanded percentiles). With 2.5 % at
/// either end, intervals from 7 samples would hold the true median in 88 of 100 cases.
double share_outside(std::size_t samples) {
    constexpr double z = 1.959964;
    const double n = static_cast<double>(samples);
    // Student's t by the first terms of Cornish and Fisher.
    const double t = z + (std::pow(z, 3) + z) / (4 * (n - 1)) +
                     (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / (96 * (n - 1) * (n - 1));
    return std::erfc(t * std::sqrt(n / (n - 1)) / std::numbers::sqrt2) / 2;
}

/// Draws as many samples as there are, with repetition; the median needs only how often each is drawn.
class bootstrap {
public:
    bootstrap(const std::vector<double>& ordered, splitmix& random)
        : ordered_(ordered), drawn_(ordered.size()), random_(random) {}

    double next_median() {
        const std::size_t n = ordered_.size();
        std::ranges::fill(drawn_, 0U);
        for (std::size_t i = 0; i < n; ++i) ++drawn_[random_.below(n)];
        std::size_t k = 0;
        std::size_t seen = drawn_[0];
        while (seen <= (n - 1) / 2) seen += drawn_[++k];
        const double lower = ordered_[k];
        while (seen <= n / 2) seen += drawn_[++k];
        return (lower + ordered_[k]) / 2;
    }

private:
    const std::vector<double>& ordered_;
    std::vector<std::uint32_t> drawn_;
    splitmix& random_;
};

estimate estimate_of(const std::vector<double>& ordered, splitmix& random) {
    if (ordered.size() < fewest_for_interval) return {middle(ordered), ordered.front(), ordered.back()};
    bootstrap draws(ordered, random);
    std::vector<double> medians(resamples);
    for (double& m : medians) m = draws.next_median();
    return with_interval(middle(ordered), medians, share_outside(ordered.size()));
}

}  // namespace

double median(std::span<const double> samples) { return middle(in_order(samples)); }

double quantile(std::span<const double> samples, double q) {
    const std::vector<double> v = in_order(samples);
    const double position = std::clamp(q, 0., 1.) * static_cast<double>(v.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, v.size() - 1);
    return v[below] + (v[above] - v[below]) * (position - static_cast<double>(below));
}

estimate estimate_median(std::span<const double> samples, std::uint64_t seed) {
    splitmix random(seed);
    return estimate_of(in_order(samples), random);
}

comparison compare_medians(std::span<const double> a, std::span<const double> b, std::uint64_t seed) {
    const std::vector<double> x = times_in_order(a);
    const std::vector<double> y = times_in_order(b);
    const double ratio = ratio_of(middle(x), middle(y));
    splitmix random(seed);
    const double p = permutation_test(x, y, random);
    if (std::min(x.size(), y.size()) < fewest_for_interval)
        return {{ratio, ratio_of(x.front(), y.back()), ratio_of(x.back(), y.front())}, p};
    bootstrap of_x(x, random);
    bootstrap of_y(y, random);
    std::vector<double> ratios(resamples);
    for (double& r : ratios) {
        const double of_one = of_x.next_median();  // both draw from one source, so their order counts
        r = ratio_of(of_one, of_y.next_median());
    }
    // A ratio of two medians takes many more values than a median, so plain percentiles are enough.
    return {with_interval(ratio, ratios, 0.025), p};
}

comparison compare_paired(std::span<const double> a, std::span<const double> b, std::uint64_t seed) {
    if (a.size() != b.size())
        throw error(fmt::format("{} and {} samples in pairs", a.size(), b.size()), "a pair has one of each",
                    "compare them as separate samples");
    times_in_order(a), times_in_order(b);
    std::vector<double> ratios(a.size());
    std::ranges::transform(a, b, ratios.begin(), ratio_of);
    std::ranges::sort(ratios);
    splitmix random(seed);
    return {estimate_of(ratios, random), signed_rank_test(a, b)};
}

}  // namespace rubato
