// How likely two samples are to differ so much by chance.
#pragma once

#include "core/splitmix.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace rubato {

/// The median of values in order.
inline double middle(std::span<const double> v) { return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2; }

inline double ratio_of(double a, double b) { return a == b ? 1 : a / b; }
/// How far a ratio is from 1, either way.
inline double apart(double a, double b) { return ratio_of(std::max(a, b), std::min(a, b)); }

/// Of all ways to deal the values to `a` and `b`, both in order, or of 20,000 random ones: the share of those whose
/// medians have a ratio so far from 1.
double permutation_test(const std::vector<double>& a, const std::vector<double>& b, splitmix& random);

/// Wilcoxon's signed-rank test. If `a` and `b` were the same, each pair could as well be the other way round: the share
/// of all ways to swap some pairs whose rank sum differs at least as much. With the median of the ratios instead of
/// ranks, ten pairs that all agree would not be significant yet.
double signed_rank_test(std::span<const double> a, std::span<const double> b);

}  // namespace rubato
