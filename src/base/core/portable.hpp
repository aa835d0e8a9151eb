// Functions whose results have the same bits on every processor. They must, because each rank of a call plans and
// chooses by itself. Sums, products, quotients and square roots are the same, as IEEE 754 rounds them, if no multiply
// is fused with an add. The standard library's logarithms differ in the last digit, and conversions of numbers that do
// not fit differ completely.
#pragma once

#include "rubato/problem.hpp"

namespace rubato::base {

/// For 0 < x.
double natural_log(double x);
/// For 0 < x; exact for powers of two.
double binary_log(double x);

/// The nearest whole nanosecond. Longer than the longest time, or not a number, becomes the longest time.
time_ns nearest_time(double ns);
/// The same without the fraction, for bounds.
time_ns time_within(double ns);

}  // namespace rubato::base
