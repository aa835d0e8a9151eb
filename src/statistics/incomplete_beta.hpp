#pragma once

namespace rubato {

/// The regularised incomplete beta function I_x(a, b).
double incomplete_beta(double a, double b, double x);

}  // namespace rubato
