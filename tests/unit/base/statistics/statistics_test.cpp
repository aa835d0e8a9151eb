// Against published results: R's data sets sleep, women and lh with what R says of them, and SciPy's example of
// Levene's test; p was computed once more by integrating the densities. Random methods are compared
// with slow versions and with their promises: how often intervals hold, how often tests err.
#include "base/statistics/statistics.hpp"

#include "support/error_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <random>

namespace rubato::base {
namespace {

using numbers = std::vector<double>;

const numbers lh{2.4, 2.4, 2.4, 2.2, 2.1, 1.5, 2.3, 2.3, 2.5, 2.0, 1.9, 1.7, 2.2, 1.8, 3.2, 3.2,
                 2.7, 2.2, 2.2, 1.9, 1.9, 1.8, 2.7, 3.0, 2.3, 2.0, 2.0, 2.9, 2.9, 2.7, 2.7, 2.3,
                 2.6, 2.4, 1.8, 1.7, 1.5, 1.4, 2.1, 3.3, 3.5, 3.5, 3.1, 2.6, 2.1, 3.4, 3.0, 2.9};

/// Skewed, as run times are; the true median is `middle`.
class source {
public:
    numbers draw(std::size_t n, double middle = 1) {
        numbers v(n);
        for (double& x : v) x = middle * std::exp(0.3 * normal_(bits_));
        return v;
    }

private:
    std::mt19937_64 bits_{5};
    std::normal_distribution<double> normal_{};
};

bool holds(const estimate& e, double truth) { return e.low <= truth && truth <= e.high; }

/// By sorting every permutation, and counting who beats whom for the ranks.
double slow_permutation_p(const numbers& a, const numbers& b, int times) {
    numbers all = a;
    all.insert(all.end(), b.begin(), b.end());
    const auto statistic = [&] {
        const std::span<const double> first = std::span(all).first(a.size());
        const std::span<const double> second = std::span(all).last(b.size());
        int balance = 0;
        for (const double x : first)
            for (const double y : second) balance += x < y ? -1 : x > y ? 1 : 0;
        const double ratio = std::abs(std::log(median(first) / median(second)));
        return std::pair(std::lround(ratio * 1e9), std::abs(balance));
    };
    const auto observed = statistic();
    std::mt19937_64 random(1);
    int extreme = 0;
    for (int k = 0; k < times; ++k) {
        std::shuffle(all.begin(), all.end(), random);
        if (statistic() >= observed) ++extreme;
    }
    return static_cast<double>(extreme) / times;
}

}  // namespace

TEST(statistics, median_and_quantiles_interpolate) {
    EXPECT_EQ(median(numbers{3}), 3);
    EXPECT_EQ(median(numbers{9, 1, 2}), 2);
    EXPECT_EQ(median(numbers{4, 1, 9, 2}), 3);
    const numbers v{40, 10, 30, 20, 50};
    EXPECT_EQ(quantile(v, 0), 10);
    EXPECT_EQ(quantile(v, 0.25), 20);
    EXPECT_DOUBLE_EQ(quantile(v, 0.9), 46);
    EXPECT_EQ(quantile(v, 1), 50);
    EXPECT_EQ(quantile(numbers{7}, 0.3), 7);
}

TEST(statistics, of_no_samples_nothing_can_be_said) {
    const numbers none;
    const numbers one{1};
    const std::string text = "a statistic of no samples: nothing can be said about them; measure at least once";
    EXPECT_EQ(error_text([&] { median(none); }), text);
    EXPECT_EQ(error_text([&] { quantile(none, 0.5); }), text);
    EXPECT_EQ(error_text([&] { estimate_median(none); }), text);
    EXPECT_EQ(error_text([&] { compare_medians(one, none); }), text);
    EXPECT_EQ(error_text([&] { compare_paired(none, none); }), text);
    EXPECT_NE(error_text([&] { compare_paired(one, none); }), "no error");
    EXPECT_NE(error_text([&] { compare_medians(one, numbers{-1}); }), "no error");
    EXPECT_NE(error_text([&] { median(numbers{std::nan("")}); }), "no error");
}

TEST(statistics, tests_with_too_little_to_go_by_say_nothing) {
    for (const numbers& v : {numbers{}, numbers{0.1}, numbers{0.1, 0.1}, numbers(20, 0.1), numbers(33, 1e-9)}) {
        EXPECT_EQ(runs_test(v).p, 1);
        EXPECT_EQ(fit_trend(v).slope, 0);
        EXPECT_EQ(fit_trend(v).p, 1);
        EXPECT_EQ(fit_trend(v).drift, 0);
        EXPECT_EQ(outlier_share(v), 0);
        const numbers other(7, 0.1);
        const std::span<const double> groups[] = {v, other};
        EXPECT_EQ(levene_test(groups).p, 1);
        EXPECT_EQ(remarks(v).size(), v.size() < fewest_for_interval ? 1U : 0U);
    }
    EXPECT_EQ(runs_test(numbers{1, 2}).p, 1);
    EXPECT_EQ(fit_trend(numbers{1, 2, 3, 4}).p, 0);
    EXPECT_EQ(levene_test({}).p, 1);
}

TEST(statistics, chances_are_those_of_another_library) {
    source random;
    for (const std::size_t n : {2U, 3U, 5U, 20U, 100U, 1000U, 50000U})
        for (const double other_middle : {1., 1.02, 1.3}) {
            const numbers a = random.draw(n);
            const numbers b = random.draw(n + 3, other_middle);
            const numbers c = random.draw(2 * n);
            const auto expect_chance = [&](double found, double f, double between, double within) {
                const double p = boost::math::ibeta(within / 2, between / 2, within / (within + between * f));
                EXPECT_NEAR(found, p, 1e-8 * p + 1e-300) << n << " samples, F " << f;
            };
            const std::span<const double> groups[] = {a, b, c};
            const test_result levene = levene_test(groups);
            expect_chance(levene.p, levene.statistic, 2, static_cast<double>(4 * n));
            const std::span<const double> pair[] = {a, b};
            const test_result two = levene_test(pair);
            expect_chance(two.p, two.statistic, 1, static_cast<double>(2 * n + 1));
        }
}

TEST(statistics, tests_give_the_published_results) {
    const numbers a{8.88, 9.12, 9.04, 8.98, 9.00, 9.08, 9.01, 8.85, 9.06, 8.99};
    const numbers b{8.88, 8.95, 9.29, 9.44, 9.15, 9.58, 8.36, 9.18, 8.67, 9.05};
    const numbers c{8.95, 9.12, 8.95, 8.85, 9.03, 8.84, 9.07, 8.98, 8.86, 8.98};
    const std::span<const double> groups[] = {a, b, c};
    EXPECT_NEAR(levene_test(groups).statistic, 7.584952754501659, 1e-9);
    EXPECT_NEAR(levene_test(groups).p, 0.002431505967249681, 1e-12);

    const numbers women{115, 117, 120, 123, 126, 129, 132, 135, 139, 142, 146, 150, 154, 159, 164};
    EXPECT_NEAR(fit_trend(women).slope, 3.45, 1e-12);
    EXPECT_NEAR(fit_trend(women).p, 1.09097e-14, 1e-18);
    EXPECT_NEAR(fit_trend(women).drift, 0.3532423208191127, 1e-12);
    EXPECT_NEAR(fit_trend(lh).p, 0.020473580485957696, 1e-12);

    // 23 above the median, 21 below, 13 runs.
    EXPECT_NEAR(runs_test(lh).statistic, -3.043366911832283, 1e-12);
    EXPECT_NEAR(runs_test(lh).p, 0.002339468971916472, 1e-12);
    EXPECT_DOUBLE_EQ(outlier_share(numbers{1, 2, 3, 4, 5, 6, 7, 8, 30, -20}), 0.2);
}

TEST(statistics, intervals_hold_the_true_median) {
    EXPECT_EQ(estimate_median(numbers{4}).high, 4);
    EXPECT_EQ(estimate_median(numbers{4, 1, 2, 9, 3}).low, 1);
    EXPECT_EQ(estimate_median(numbers{4, 1, 2, 9, 3}).high, 9);
    EXPECT_EQ(estimate_median(numbers(9, 2.5)).low, 2.5);
    source s;
    for (const std::size_t n : {6U, 7U, 12U, 25U}) {
        int held = 0;
        double width = 0;
        for (int k = 0; k < 200; ++k) {
            const numbers v = s.draw(n);
            const estimate e = estimate_median(v);
            EXPECT_EQ(e.value, median(v));
            held += holds(e, 1) ? 1 : 0;
            width += (e.high - e.low) / 200;
        }
        EXPECT_GE(held, 186) << n;  // 93 %
        EXPECT_LE(held, 199) << n;
        EXPECT_LT(width * std::sqrt(static_cast<double>(n)), 2.5) << n;  // of normal logarithms, 1.5 if n is large
    }
    // Of resampled medians 0.9 % are 1 and 2.6 % are 1.5, as many are 32 and 24.
    const estimate plain = compare_medians(numbers{1, 2, 4, 8, 16, 32}, numbers(6, 1.)).ratio;
    EXPECT_EQ(plain.value, 6);
    EXPECT_EQ(plain.low, 1.5);
    EXPECT_EQ(plain.high, 24);
    const numbers v = s.draw(30);
    EXPECT_EQ(estimate_median(v, 3).low, estimate_median(v, 3).low);
}

TEST(statistics, a_permutation_test_counts_the_ways) {
    // Of 20 ways to deal 1 2 3 and 10 20 30, four have a ratio of 10; two of them sum up to ranks so far apart.
    const comparison c = compare_medians(numbers{10, 20, 30}, numbers{3, 1, 2});
    EXPECT_EQ(c.ratio.value, 10);
    EXPECT_DOUBLE_EQ(c.ratio.low, 10. / 3);
    EXPECT_EQ(c.ratio.high, 30);
    EXPECT_DOUBLE_EQ(c.p, 0.1);
    EXPECT_DOUBLE_EQ(compare_medians(numbers{3, 20, 30}, numbers{10, 1, 2}).p, 0.2);
    EXPECT_EQ(compare_medians(numbers{1, 2, 3}, numbers{3, 1, 2}).p, 1);
    EXPECT_EQ(compare_medians(numbers{5}, numbers{3}).p, 1);
    EXPECT_EQ(compare_medians(numbers(9, 5.), numbers(40, 5.)).ratio.high, 1);

    source s;
    const numbers a = s.draw(13);
    for (const double middle : {1., 1.15, 1.3}) {
        const numbers b = s.draw(9, middle);
        EXPECT_NEAR(compare_medians(a, b).p, slow_permutation_p(a, b, 4000), 0.03) << middle;
        EXPECT_NEAR(compare_medians(a, b).p, compare_medians(b, a, 7).p, 0.02) << middle;
    }
    EXPECT_DOUBLE_EQ(compare_medians(numbers(30, 1.), numbers(30, 2.)).p, 1. / 20'001);
}

TEST(statistics, comparing_medians_errs_as_often_as_it_says_and_sees_what_is_there) {
    source s;
    int wrong = 0;
    int seen = 0;
    int held = 0;
    for (int k = 0; k < 200; ++k) {
        const numbers a = s.draw(6);
        wrong += compare_medians(a, s.draw(6)).p < 0.05 ? 1 : 0;
        const comparison c = compare_medians(s.draw(6, 2), a);
        seen += c.p < 0.05 ? 1 : 0;
        held += holds(c.ratio, 2) ? 1 : 0;
    }
    EXPECT_LE(wrong, 18);  // 5 % are 10
    EXPECT_GE(wrong, 2);
    EXPECT_GE(seen, 150);
    EXPECT_GE(held, 184);
}

TEST(statistics, pairs_are_compared_within_themselves) {
    // 1 2 3 4 5 6 up and 7 down: 2 * 19 of the 128 ways to swap sum up to 7 or less.
    const numbers b(7, 10.);
    const comparison c = compare_paired(numbers{11, 12, 13, 14, 15, 16, 10. / 1.7}, b);
    EXPECT_DOUBLE_EQ(c.ratio.value, 1.3);
    EXPECT_DOUBLE_EQ(c.p, 2 * 19. / 128);
    // With equal ranks: ten pairs that agree.
    EXPECT_DOUBLE_EQ(compare_paired(numbers(10, 3.), numbers(10, 2.)).p, 2. / 1024);
    // Every third rank down: z is 2.895 of 100 pairs, which are counted, and 3.023 of 101, which are not.
    numbers x(101);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = (i + 1) % 3 == 0 ? 1 / static_cast<double>(i + 2) : static_cast<double>(i + 2);
    const numbers ones(101, 1.);
    EXPECT_NEAR(compare_paired(std::span(x).first(100), std::span(ones).first(100)).p, 0.0035260038, 1e-10);
    EXPECT_NEAR(compare_paired(x, ones).p, 0.0025, 1e-5);
    EXPECT_EQ(compare_paired(b, b).p, 1);
    EXPECT_EQ(compare_paired(b, b).ratio.high, 1);
    EXPECT_EQ(compare_paired(numbers{1, 0, 0}, numbers{0, 0, 1}).ratio.value, 1);

    // What disturbs both of a pair hides a difference of 5 % from everything but pairs; exact and for many.
    source s;
    for (const std::size_t n : {30U, 100U, 101U}) {
        const numbers before = s.draw(n);
        numbers after = before;
        for (std::size_t i = 0; i < n; ++i) after[i] *= i % 3 == 0 ? 0.99 : 1.05;
        EXPECT_LT(compare_paired(after, before).p, 0.01) << n;
        EXPECT_LT(compare_paired(before, after).p, 0.01) << n;
        EXPECT_GT(compare_medians(after, before).p, 0.2) << n;
        EXPECT_NEAR(compare_paired(after, before).ratio.value, 1.05, 1e-12) << n;
    }
    EXPECT_GT(compare_paired(numbers(5000, 3.), numbers(5000, 2.)).p, 0);
    int wrong = 0;
    for (int k = 0; k < 200; ++k) {
        const numbers before = s.draw(11);
        const numbers after = s.draw(11);
        wrong += compare_paired(before, after).p < 0.05 ? 1 : 0;
    }
    EXPECT_LE(wrong, 18);
    EXPECT_GE(wrong, 2);
}

TEST(statistics, remarks_warn_of_series_that_are_not_what_intervals_suppose) {
    using texts = std::vector<std::string_view>;
    source s;
    int warned = 0;
    for (int k = 0; k < 100; ++k) warned += remarks(s.draw(40)).empty() ? 0 : 1;
    EXPECT_LE(warned, 15);
    EXPECT_EQ(remarks(numbers{1, 2}), texts{"few"});
    EXPECT_EQ(remarks(lh), texts{"correlated"});

    numbers noise = s.draw(60);
    while (!remarks(noise).empty()) noise = s.draw(60);
    numbers v = noise;
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = 1 + (v[i] - 1) / 20 + 0.001 * static_cast<double>(i);
    EXPECT_EQ(remarks(v).back(), "drifting");
    for (double& x : v) x += 10;  // the same drift is now less than 2 %
    EXPECT_EQ(std::ranges::count(remarks(v), "drifting"), 0);
    v = noise;
    for (std::size_t i = 30; i < v.size(); ++i) v[i] = 1 + (v[i] - 1) * 8;
    EXPECT_EQ(std::ranges::count(remarks(v), "unsteady"), 1);
    v = noise;
    for (std::size_t i = 0; i < v.size(); i += 7) v[i] = 20;
    EXPECT_EQ(remarks(v), texts{"outliers"});
}

}  // namespace rubato::base
