#include "base/core/portable.hpp"

#include <cmath>
#include <numbers>

namespace rubato::base {
namespace {

/// x = m 2^exponent with m near 1, and log m = 2 atanh((m-1)/(m+1)).
struct split_log {
    int exponent;
    double of_m;
};

split_log split(double x) {
    int exponent = 0;
    double m = std::frexp(x, &exponent);
    if (m < std::numbers::sqrt2 / 2) {
        m *= 2;
        --exponent;
    }
    const double t = (m - 1) / (m + 1);
    double sum = 0;
    for (int k = 23; k >= 1; k -= 2) sum = sum * t * t + 1. / k;
    return {exponent, 2 * t * sum};
}

}  // namespace

double natural_log(double x) {
    const auto [exponent, of_m] = split(x);
    return exponent * std::numbers::ln2 + of_m;
}

double binary_log(double x) {
    const auto [exponent, of_m] = split(x);
    return exponent + of_m / std::numbers::ln2;
}

time_ns nearest_time(double ns) {
    if (std::abs(ns) < static_cast<double>(longest_time.count())) return time_ns(std::llround(ns));
    return ns < 0 ? -longest_time : longest_time;
}

time_ns time_within(double ns) { return nearest_time(std::trunc(ns)); }

}  // namespace rubato::base
