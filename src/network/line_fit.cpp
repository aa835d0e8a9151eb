#include "network/line_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rubato {
namespace {

constexpr std::size_t fewest = 3;  // points of a range

struct solution {
    fitted_line line{};
    double squares = std::numeric_limits<double>::infinity();  // sum of the relative deviations'
    double freedom = 0;
};

solution solve(std::span<const line_point> points, std::size_t without) {
    double weight = 0, x_mean = 0, y_mean = 0;
    const auto each = [&](auto f) {
        for (std::size_t i = 0; i < points.size(); ++i)
            if (i != without) f(points[i].bytes - 1, points[i].time, 1 / (points[i].scale * points[i].scale));
    };
    each([&](double x, double y, double w) {
        weight += w;
        x_mean += w * x;
        y_mean += w * y;
    });
    x_mean /= weight;
    y_mean /= weight;
    double xx = 0, xy = 0;
    each([&](double x, double y, double w) {
        xx += w * (x - x_mean) * (x - x_mean);
        xy += w * (x - x_mean) * (y - y_mean);
    });
    solution s;
    s.line.slope.value = xy / xx;
    s.line.first.value = y_mean - s.line.slope.value * x_mean;
    s.squares = 0;
    each([&](double x, double y, double w) {
        const double off = y - s.line.first.value - s.line.slope.value * x;
        s.squares += w * off * off;
    });
    s.freedom = static_cast<double>(points.size() - (without < points.size() ? 3 : 2));
    const double variance = s.squares / s.freedom;
    s.line.residual = std::sqrt(variance);
    s.line.slope.spread = std::sqrt(variance / xx);
    s.line.first.spread = std::sqrt(variance * (1 / weight + x_mean * x_mean / xx));
    return s;
}

/// Without the point that is best left out.
solution solve_but_one(std::span<const line_point> points) {
    solution best;
    for (std::size_t without = 0; without < points.size(); ++without)
        if (const solution s = solve(points, without); s.squares < best.squares) best = s;
    return best;
}

solution solve(std::span<const line_point> points) {
    return points.size() < 5 ? solve(points, points.size()) : solve_but_one(points);
}

double mean_square(std::span<const line_point> points) {
    const solution s = solve(points);
    return s.squares / s.freedom;
}

struct pair_of_lines {
    std::size_t second = 0;  // where it begins
    double mean_square = std::numeric_limits<double>::infinity();
};

/// One point of both together is left out: were it one of each, a line could begin one point too early for free.
pair_of_lines solve_pair(std::span<const line_point> points, std::size_t second) {
    const auto a = points.first(second);
    const auto b = points.subspan(second);
    const double a_all = solve(a, a.size()).squares;
    const double b_all = solve(b, b.size()).squares;
    double squares = a_all + b_all;
    if (a.size() > fewest) squares = std::min(squares, solve_but_one(a).squares + b_all);
    if (b.size() > fewest) squares = std::min(squares, a_all + solve_but_one(b).squares);
    squares += (a_all + b_all) / 1000;  // if that point is between the lines, it belongs where it is nearer
    return {second, squares / static_cast<double>(std::max<std::size_t>(points.size(), 6) - 5)};
}

pair_of_lines best_pair(std::span<const line_point> points) {
    pair_of_lines best;
    for (std::size_t second = fewest; second + fewest <= points.size(); ++second)
        if (const pair_of_lines p = solve_pair(points, second); p.mean_square < best.mean_square) best = p;
    return best;
}

}  // namespace

void weigh(std::span<line_point> points) {
    std::vector<double> sorted;
    for (const line_point& p : points) sorted.push_back(p.time);
    std::ranges::sort(sorted);
    const double least = std::max(sorted[sorted.size() / 4] / 4, 1.);  // noise can make a difference of times vanish
    for (std::size_t i = 0; i < points.size(); ++i) {
        const double before = points[i > 0 ? i - 1 : i].time;
        const double after = points[i + 1 < points.size() ? i + 1 : i].time;
        const double here = points[i].time;
        points[i].scale = std::max({std::min(before, here), std::min(here, after), std::min(before, after), least});
    }
}

fitted_line fit_line(std::span<const line_point> points) { return solve(points).line; }

std::vector<std::size_t> find_ranges(std::span<const line_point> points, const fit_settings& settings) {
    const double noise = settings.least_change * settings.least_change;
    const auto ahead = static_cast<std::size_t>(settings.look_ahead);
    std::vector<std::size_t> begins{0};
    for (std::size_t end = fewest; end + ahead <= points.size(); ++end) {
        const auto from_last = [&](std::size_t to) { return points.subspan(begins.back(), to - begins.back()); };
        const double limit = settings.factor * std::max(mean_square(from_last(end)), noise);
        bool changed = true;
        for (std::size_t j = 1; j <= ahead && changed; ++j) changed = mean_square(from_last(end + j)) > limit;
        if (!changed) continue;
        // One point more, so that the best second line is not one through very few.
        const pair_of_lines best = best_pair(from_last(std::min(end + ahead + 1, points.size())));
        begins.push_back(begins.back() + best.second);
        end = begins.back() + fewest - 1;
    }
    const auto around = [&](std::size_t i) {
        const std::size_t after = i + 1 < begins.size() ? begins[i + 1] : points.size();
        return points.subspan(begins[i - 1], after - begins[i - 1]);
    };
    for (std::size_t i = 1; i < begins.size();) {
        const double apart = solve_pair(around(i), begins[i] - begins[i - 1]).mean_square;
        if (mean_square(around(i)) > settings.factor * std::max(apart, noise)) {
            ++i;
            continue;
        }
        begins.erase(begins.begin() + static_cast<std::ptrdiff_t>(i));
        i = std::max<std::size_t>(i - 1, 1);
    }
    // With all points of both ranges known, the place is more certain.
    for (std::size_t i = 1; i < begins.size(); ++i) begins[i] = begins[i - 1] + best_pair(around(i)).second;
    return begins;
}

}  // namespace rubato
