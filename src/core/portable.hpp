// Numbers that come out as the same bits on every processor. The ranks of a call plan and choose alone, so they must.
// Sums, products, quotients and square roots do, as IEEE 754 rounds them, if no multiply is fused with an add. The
// standard library's logarithms differ in the last digit, and conversions of numbers that do not fit differ altogether.
#pragma once

#include "rubato/problem.hpp"

namespace rubato {

/// For 0 < x.
double natural_log(double x);
/// For 0 < x; exact for powers of two.
double binary_log(double x);

/// The nearest whole nanosecond. What is longer than the longest time, or no number, becomes that one.
time_ns nearest_time(double ns);
/// The same without the fraction, for bounds.
time_ns time_within(double ns);

}  // namespace rubato
