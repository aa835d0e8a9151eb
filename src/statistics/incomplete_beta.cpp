#include "statistics/incomplete_beta.hpp"

#include <cmath>
#include <limits>

namespace rubato {

/// By its continued fraction. Lentz's method multiplies quotients
/// of successive numerators and denominators; it needs about as many steps as the root of the larger parameter.
double incomplete_beta(double a, double b, double x) {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(b, a, 1 - x);  // where it converges quickly
    constexpr double smallest = 1e-300;
    constexpr int most_steps = 100'000;
    const auto nonzero = [](double v) { return std::abs(v) < smallest ? smallest : v; };
    double above = 1;
    double below = 1 / nonzero(1 - (a + b) / (a + 1) * x);
    double fraction = below;
    for (int m = 1; m < most_steps; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double change = 1;
        for (const double term : {even, odd}) {
            below = 1 / nonzero(1 + term * below);
            above = nonzero(1 + term / above);
            change = above * below;
            fraction *= change;
        }
        if (std::abs(change - 1) < std::numeric_limits<double>::epsilon()) break;
    }
    const double scale = std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b);
    return std::exp(scale + a * std::log(x) + b * std::log1p(-x)) / a * fraction;
}

}  // namespace rubato
