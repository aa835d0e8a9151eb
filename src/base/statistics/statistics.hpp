// Statistics of measured times: medians with intervals, ratios of medians, and whether the samples are as independent
// and steady as these assume (Marendic et al. 2016, sec. 6.2).
//
// Samples are finite numbers in the order in which they were measured. Where a test has too few samples, its statistic
// is 0 and its p 1. Random draws are the same on every machine.
//
// Those of Marendic et al. 2016, with three changes. A median's interval is wider than plain bootstrap percentiles,
// which from 7 samples hold the true median in only 88 of 100 cases. Where permuted medians have the observed ratio
// again, ranks of the samples decide. Samples taken in pairs are compared within pairs, by ranks: with medians, ten
// pairs that all agree would not be significant.
#pragma once

#include "rubato/core.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace rubato::base {

/// With fewer samples than this even their range holds the median with less than 95 % probability.
inline constexpr std::size_t fewest_for_interval = 6;

/// Throws if there are no samples, as do all functions here that return an estimate.
RUBATO_API double median(std::span<const double> samples);
/// Between the two nearest samples it is linear: 0 is the smallest sample, 0.5 the median, 1 the largest.
RUBATO_API double quantile(std::span<const double> samples, double q);

struct estimate {
    double value = 0;
    double low = 0;
    double high = 0;
};

/// The median and its 95 % interval, from 2000 bootstrap resamples, widened a little for few samples; with fewer than
/// 6, their range.
RUBATO_API estimate estimate_median(std::span<const double> samples, std::uint64_t seed = 1);

struct comparison {
    estimate ratio{};
    double p = 1;  ///< of a ratio as far from 1 or farther, if in truth both were the same; never 0
};

/// Of times, which are not negative; 0 to 0 counts as 1. The ratio of the median of `a` to that of `b` with its 95 %
/// bootstrap interval (from the ranges, if either has fewer than 6), and a two-sided permutation test of it: all ways
/// to deal the samples to `a` and `b` if they are not more than 20,000, else so many at random. Of those with the same
/// ratio, the ones count whose ranks differ as much.
RUBATO_API comparison compare_medians(std::span<const double> a, std::span<const double> b, std::uint64_t seed = 1);
/// The same for samples that were taken in pairs, one of each in a repetition: the median of the ratios within pairs,
/// and Wilcoxon's signed-rank test of them, over all ways to swap `a` and `b` in some pairs. A disturbance of both
/// samples of a pair does not matter here.
RUBATO_API comparison compare_paired(std::span<const double> a, std::span<const double> b, std::uint64_t seed = 1);

struct test_result {
    double statistic = 0;
    double p = 1;  ///< two-sided
};

/// Are samples above and below the median in random order (Wald and Wolfowitz)? z, below 0 if there are too few runs,
/// as when samples depend on the ones before. Those equal to the median are left out.
RUBATO_API test_result runs_test(std::span<const double> samples);
/// Have all groups the same spread (Levene's test around medians, of Brown and Forsythe)? F.
RUBATO_API test_result levene_test(std::span<const std::span<const double>> groups);

struct linear_trend {
    double slope = 0;  ///< per sample
    double p = 1;      ///< of a slope as steep or steeper, if in truth there were none
    double drift = 0;  ///< from the first to the last sample along the line, relative to the mean
};
/// The straight line of least squares. If it passes through all samples, p is 0.
RUBATO_API linear_trend fit_trend(std::span<const double> samples);

/// The share of samples farther from the middle half of them than 1.5 times its width.
RUBATO_API double outlier_share(std::span<const double> samples);

/// The chance of so many hits or more in as many independent trials, of which each hits with this probability.
RUBATO_API double chance_of_at_least(std::size_t hits, std::size_t trials, double probability);
/// Are all kinds equally likely, by how often each came? Chi-square; p is the share of 2000 random draws of as many
/// whose chi-square is as large, so it is right for small counts, too, and never 0.
RUBATO_API test_result uniformity_test(std::span<const std::size_t> counts, std::uint64_t seed = 1);

/// With fewer samples the tests find only chance.
inline constexpr std::size_t fewest_for_remarks = 10;
/// At the usual 0.05, every twentieth line of a table would get each remark by chance.
inline constexpr double remarkable_p = 0.01;
/// With many samples any drift becomes significant; what is less than this changes no decision.
inline constexpr double remarkable_drift = 0.02;
/// Of exponentially distributed times 5 % are outliers, of normal ones 1 %: a tail is no reason to warn.
inline constexpr double remarkable_outliers = 0.1;
/// So few outliers are chance, for any number of samples.
inline constexpr double unremarkable_outliers = 3;

/// What a reader should know before trusting an interval:
///   few         fewer than 6 samples: the interval is their range
///   correlated  there are too few runs; intervals are too narrow, p too small
///   drifting    from first to last by more than 2 %
///   unsteady    the spread of the first half is not that of the second
///   outliers    more than 10 %, and more than 3
/// Nothing but `few` is said of fewer than 10 samples.
RUBATO_API std::vector<std::string_view> remarks(std::span<const double> samples);

}  // namespace rubato::base
