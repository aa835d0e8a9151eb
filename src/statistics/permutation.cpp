// The permutation test deals sorted values to two hands. So each hand is sorted too, and its median is known: no
// permutation has to be sorted.
#include "statistics/permutation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace rubato {
namespace {

constexpr std::size_t permutations = 20'000;
constexpr std::size_t most_exact_pairs = 100;  // with more, a sum of ranks is practically normal

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

}  // namespace

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

}  // namespace rubato
