// Lines through times over message sizes, and the sizes at which a new line begins.
#pragma once

#include "network/loggp_fit.hpp"

namespace rubato {

struct line_point {
    double bytes = 0;
    double time = 0;
    double scale = 1;  ///< deviations count as shares of it
};

/// Sets the scales: each time itself, or a value from its neighbours if it is odd.
void weigh(std::span<line_point> points);
/// Of five points and more, the one that deviates most is left out: one size may be odd.
fitted_line fit_line(std::span<const line_point> points);
/// Where ranges begin, the first at 0. The mean square of deviations shows that there is a change (II.2.4.2.5), the
/// best pair of lines shows where; a pair that is hardly better than one line is ignored.
std::vector<std::size_t> find_ranges(std::span<const line_point> points, const fit_settings& settings);

}  // namespace rubato
