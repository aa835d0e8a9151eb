// Whether counts are what chance makes of equal shares.
#include "core/splitmix.hpp"
#include "statistics/incomplete_beta.hpp"
#include "statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rubato {
namespace {

constexpr int random_draws = 2000;

/// Without the constant parts of chi-square.
double squares(std::span<const std::size_t> counts) {
    double sum = 0;
    for (const std::size_t c : counts) sum += static_cast<double>(c) * static_cast<double>(c);
    return sum;
}

}  // namespace

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

}  // namespace rubato
