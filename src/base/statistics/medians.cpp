// Medians, their ratios, bootstrap intervals of both, and how likely two samples are to differ so much by chance.
//
// Intervals are percentiles of the resampled medians. BCa intervals need the jackknife, which fails for a median:
// leaving out one sample moves it to a neighbour, whatever the distribution.
//
// The permutation test deals sorted values to two hands. So each hand is sorted too, and its median is known: no
// permutation has to be sorted.
#include "base/statistics/statistics.hpp"

#include "base/core/splitmix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace rubato::base {
namespace {

constexpr std::size_t resamples = 2000;
constexpr std::size_t permutations = 20'000;
constexpr std::size_t most_exact_pairs = 100;  // with more, a sum of ranks is practically normal

/// The median of values in order.
inline double middle(std::span<const double> v) { return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2; }

inline double ratio_of(double a, double b) { return a == b ? 1 : a / b; }
/// How far a ratio is from 1, either way.
inline double apart(double a, double b) { return ratio_of(std::max(a, b), std::min(a, b)); }

/// Twice the rank of a value among values in order, so that the mean rank of equal ones is whole.
std::size_t double_rank(const std::vector<double>& ordered, double value) {
    const auto [begin, end] = std::equal_range(ordered.begin(), ordered.end(), value);
    return static_cast<std::size_t>((begin - ordered.begin()) + (end - ordered.begin())) + 1;
}

std::size_t distance(std::size_t a, std::size_t b) { return a > b ? a - b : b - a; }

/// The sorted samples of `a` and `b`, dealt again to two hands of the same sizes.
class hands {
public:
    hands(const std::vector<double>& a, const std::vector<double>& b)
        : sizes_{a.size(), b.size()},
          all_(a.size() + b.size()),
          ranks_(all_.size()),
          apart_(apart(middle(a), middle(b))) {
        std::ranges::merge(a, b, all_.begin());
        std::ranges::transform(all_, ranks_.begin(), [this](double x) { return double_rank(all_, x); });
        for (std::vector<double>& v : of_) v.resize(all_.size() + 1);
        std::size_t sum = 0;
        for (const double x : b) sum += double_rank(all_, x);
        off_balance_ = off_balance(sum);
    }

    /// Are the hands' medians as far apart as those of `a` and `b`, or farther? If equally far, ranks decide:
    /// otherwise, with 30 times 1 and 30 times 2, that would hold in most cases. `to_second(i)`, 0 or 1: who gets the
    /// i-th value.
    template <class Choice>
    bool deal(Choice to_second) {
        double* const first = of_[0].data();
        double* const second = of_[1].data();
        std::size_t i = 0;
        std::size_t held_by_second = 0;
        std::size_t sum = 0;
        // Both take a value and one keeps it: a branch would be predicted wrong half the time.
        const auto give_next = [&] {
            first[i - held_by_second] = second[held_by_second] = all_[i];
            const std::size_t kept = to_second(i);
            held_by_second += kept;
            sum += kept * ranks_[i];
            ++i;
        };
        while (i - held_by_second <= sizes_[0] / 2 || held_by_second <= sizes_[1] / 2) give_next();
        const double now = apart(middle({first, sizes_[0]}), middle({second, sizes_[1]}));
        constexpr double rounding = 1e-12;
        if (now < apart_ * (1 - rounding)) return false;
        if (now > apart_ * (1 + rounding)) return true;
        while (i < all_.size()) give_next();
        return off_balance(sum) >= off_balance_;
    }

private:
    /// How far the sum of the second hand's ranks is from its mean.
    std::size_t off_balance(std::size_t sum) const { return distance(sum, sizes_[1] * (all_.size() + 1)); }

    std::array<std::size_t, 2> sizes_;
    std::vector<double> all_;
    std::vector<std::size_t> ranks_;
    double apart_;
    std::size_t off_balance_ = 0;
    std::array<std::vector<double>, 2> of_{};
};

/// Are there at most `permutations` ways to choose k of n?
bool few_choices(std::size_t n, std::size_t k) {
    std::size_t ways = 1;
    for (std::size_t i = 1; i <= std::min(k, n - k); ++i) {
        ways = ways * (n - i + 1) / i;
        if (ways > permutations) return false;
    }
    return true;
}

/// Of all ways to deal the values to `a` and `b`, both in order, or of 20,000 random ones: the share of those whose
/// medians have a ratio so far from 1.
double permutation_test(const std::vector<double>& a, const std::vector<double>& b, splitmix& random) {
    const std::size_t n = a.size() + b.size();
    hands h(a, b);
    std::size_t extreme = 0;
    if (few_choices(n, b.size())) {  // what was observed is one of them
        std::size_t ways = 0;
        std::vector<bool> second(n);
        std::fill(second.end() - static_cast<std::ptrdiff_t>(b.size()), second.end(), true);
        do {
            ++ways;
            extreme += h.deal([&second](std::size_t i) -> std::size_t { return second[i] ? 1 : 0; }) ? 1U : 0U;
        } while (std::next_permutation(second.begin(), second.end()));
        return static_cast<double>(extreme) / static_cast<double>(ways);
    }
    for (std::size_t k = 0; k < permutations; ++k) {
        const auto choose = [&random, n, wanted = b.size()](std::size_t i) mutable {
            const auto second = static_cast<std::size_t>(random.below(n - i) < wanted);
            wanted -= second;
            return second;
        };
        extreme += h.deal(choose) ? 1U : 0U;
    }
    return static_cast<double>(extreme + 1) / static_cast<double>(permutations + 1);  // the observed is one more
}

/// Wilcoxon's signed-rank test. If `a` and `b` were the same, each pair could as well be the other way round: the share
/// of all ways to swap some pairs whose rank sum differs at least as much. With the median of the ratios instead of
/// ranks, ten pairs that all agree would not be significant yet.
double signed_rank_test(std::span<const double> a, std::span<const double> b) {
    std::vector<double> sizes;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (a[i] != b[i]) sizes.push_back(apart(a[i], b[i]));
    std::ranges::sort(sizes);
    std::size_t up = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (a[i] > b[i]) up += double_rank(sizes, apart(a[i], b[i]));
    std::vector<std::size_t> ranks(sizes.size());
    std::ranges::transform(sizes, ranks.begin(), [&](double s) { return double_rank(sizes, s); });
    const std::size_t n = sizes.size();
    const std::size_t total = n * (n + 1);
    const auto difference = [total](std::size_t sum) { return distance(2 * sum, total); };
    if (n > most_exact_pairs) {
        double variance = 0;
        for (const std::size_t r : ranks) variance += static_cast<double>(r * r);
        const double p = std::erfc(static_cast<double>(difference(up)) / std::sqrt(2 * variance));
        return std::max(p, std::numeric_limits<double>::min());
    }
    std::vector<double> chance(total + 1);  // of each sum
    chance[0] = 1;
    std::size_t largest = 0;
    for (const std::size_t r : ranks) {
        largest += r;
        for (std::size_t sum = largest; sum >= r; --sum) chance[sum] = (chance[sum] + chance[sum - r]) / 2;
        for (std::size_t sum = 0; sum < r; ++sum) chance[sum] /= 2;
    }
    double p = 0;
    for (std::size_t sum = 0; sum <= total; ++sum) p += difference(sum) >= difference(up) ? chance[sum] : 0;
    return std::min(p, 1.);
}

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

}  // namespace rubato::base
