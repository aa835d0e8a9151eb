#include "simulator/network/loggp_fit.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace rubato::simulator {
namespace {

// Lines through times over message sizes, and the sizes at which a new line begins.

struct line_point {
    double bytes = 0;
    double time = 0;
    double scale = 1;  ///< deviations count as shares of it
};

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

/// Sets the scales: each time itself, or a value from its neighbours if it is odd.
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

/// Of five points and more, the one that deviates most is left out: one size may be odd.
fitted_line fit_line(std::span<const line_point> points) { return solve(points).line; }

/// Where ranges begin, the first at 0. The mean square of deviations shows that there is a change (II.2.4.2.5), the
/// best pair of lines shows where; a pair that is hardly better than one line is ignored.
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

// What they say of a network.

/// (PRTT(n,d,s) - PRTT(1,0,s)) / (n-1)
reading per_message(const reading& several, const reading& single, int messages) {
    const double others = messages - 1;
    return {(several.value - single.value) / others, (several.spread + single.spread) / others};
}

size_costs costs_of(const round_trips& m) {
    const reading single = low_quantile(m.single);
    size_costs c{
        m.bytes, {single.value / 2, single.spread / 2}, per_message(low_quantile(m.burst), single, m.messages), {}};
    if (!m.spaced.empty()) c.overhead = per_message(low_quantile(m.spaced), single, m.messages);
    return c;
}

void check(std::span<const round_trips> measured) {
    const auto wrong = [](std::string_view reason) { throw error("cannot fit a network", reason, "measure more"); };
    if (measured.size() < 3) wrong("a line needs three message sizes");
    for (std::size_t i = 0; i < measured.size(); ++i) {
        const round_trips& m = measured[i];
        if (m.single.empty() || m.burst.empty() || m.messages < 2) wrong("a message size was not measured");
        if (i > 0 && m.bytes <= measured[i - 1].bytes) wrong("message sizes do not ascend");
    }
}

/// A point per size that has the cost.
template <class Cost>
std::vector<line_point> points_of(std::span<const size_costs> sizes, Cost cost) {
    std::vector<line_point> points;
    for (const size_costs& s : sizes)
        if (const std::optional<reading> c = cost(s)) points.push_back({static_cast<double>(s.bytes), c->value});
    if (!points.empty()) weigh(points);
    return points;
}

protocol_range range_of(std::span<const size_costs> sizes, std::span<const line_point> gaps) {
    protocol_range r{sizes.front().bytes, sizes.back().bytes, fit_line(gaps), {}};
    const std::vector<line_point> overheads = points_of(sizes, [](const size_costs& s) { return s.overhead; });
    if (overheads.size() >= 3) r.overhead = fit_line(overheads);
    return r;
}

bool is_segment(const size_costs& s) { return s.bytes >= 4 << 10 && s.bytes <= 64 << 10; }

/// On many networks short messages are faster than the line of longer ones predicts: data that passes at once after a
/// pause, such as a limiter's burst, moves the line down. The slope is still the cost of data that flows.
fitted_line fit_one_way(const network_fit& fit) {
    std::vector<size_costs> sizes;
    std::ranges::copy_if(fit.sizes, std::back_inserter(sizes), is_segment);
    const std::vector<line_point> points =
        points_of(sizes.size() < 3 ? fit.sizes : sizes, [](const size_costs& s) { return s.one_way; });
    fitted_line line = fit_line(points);
    if (line.first.value < fit.latency.value) line.first = fit.latency;
    return line;
}

std::size_t range_of_segments(const network_fit& fit) {
    std::vector<int> votes(fit.ranges.size(), 0);
    for (const size_costs& s : fit.sizes) {
        if (!is_segment(s)) continue;
        const auto after = std::ranges::upper_bound(fit.ranges, s.bytes, {}, &protocol_range::begin);
        ++votes[static_cast<std::size_t>(after - fit.ranges.begin()) - 1];
    }
    const auto most = std::ranges::max_element(votes);
    return *most == 0 ? votes.size() - 1 : static_cast<std::size_t>(most - votes.begin());
}

/// To four digits: more are noise.
double rounded(double value) {
    if (!(value > 0)) return 0;
    const double unit = std::pow(10., std::floor(std::log10(value)) - 3);
    return unit >= 1 ? std::round(value / unit) * unit : std::round(value / unit) / std::round(1 / unit);
}

}  // namespace

reading low_quantile(std::vector<double> repetitions) {
    std::ranges::sort(repetitions);
    const double low = repetitions[(repetitions.size() - 1) / 10];
    return {low, repetitions[repetitions.size() / 2] - low};
}

network_fit fit_network(std::span<const round_trips> measured, const fit_settings& settings) {
    check(measured);
    network_fit fit;
    for (const round_trips& m : measured) fit.sizes.push_back(costs_of(m));
    const std::vector<line_point> gaps = points_of(fit.sizes, [](const size_costs& s) { return s.gap; });
    const std::vector<std::size_t> begins = find_ranges(gaps, settings);
    for (std::size_t i = 0; i < begins.size(); ++i) {
        const std::size_t count = (i + 1 < begins.size() ? begins[i + 1] : gaps.size()) - begins[i];
        fit.ranges.push_back(
            range_of(std::span(fit.sizes).subspan(begins[i], count), std::span(gaps).subspan(begins[i], count)));
    }
    fit.latency = fit.sizes.front().one_way;
    fit.one_way = fit_one_way(fit);
    // One line through many sizes is more certain than one size.
    const auto known = std::ranges::find_if(fit.sizes, [](const size_costs& s) { return s.overhead.has_value(); });
    if (fit.ranges.front().overhead)
        fit.o = fit.ranges.front().overhead->first;
    else if (known != fit.sizes.end())
        fit.o = *known->overhead;
    fit.o.value = std::max(fit.o.value, 0.);
    fit.L = {std::max(fit.latency.value - 2 * fit.o.value, 0.), fit.latency.spread + 2 * fit.o.spread};
    fit.segments = range_of_segments(fit);
    return fit;
}

loggp loggp_of(const network_fit& fit, double combine, std::optional<std::int64_t> rendezvous) {
    fitted_line gap = fit.ranges[fit.segments].gap;
    if (gap.slope.value <= 0) gap.slope = fit.ranges.back().gap.slope;  // disturbed; longer messages are disturbed less
    loggp m{rounded(fit.L.value), rounded(std::min(fit.o.value, fit.latency.value / 2)), rounded(gap.first.value),
            rounded(gap.slope.value), rounded(combine)};
    if (rendezvous) m.rendezvous = *rendezvous;
    return m;
}

hockney hockney_of(const network_fit& fit, double combine) {
    return {rounded(fit.one_way.first.value), rounded(fit.one_way.slope.value), rounded(combine)};
}

free_messages fit_free_messages(std::span<const double> times) {
    std::size_t best = 0;
    const auto each = [&](std::size_t i) { return times[i] / static_cast<double>(i + 1); };
    for (std::size_t i = 1; i < times.size(); ++i)
        if (each(i) < each(best)) best = i;
    return {static_cast<int>(best) + 1, best + 1 == times.size()};
}

overhead_bounds fit_overhead_bounds(std::span<const double> times) {
    const double most = std::max(times.front(), 0.);
    const double each =
        (times.back() - times.front()) / static_cast<double>(std::max<std::size_t>(times.size() - 1, 1));
    return {times.size() < 2 ? most : std::clamp(each, 0., most), most};
}

loggp logfgp_of(const network_fit& fit, loggp m, const free_messages& free, const overhead_bounds& o) {
    m.o = rounded(std::min(o.most, fit.latency.value / 2));
    m.o_min = std::min(rounded(o.least), m.o);
    m.L = rounded(std::max(fit.latency.value - 2 * m.o, 0.));
    m.g = rounded(fit.ranges.front().gap.first.value);
    m.f = free.count;
    return m;
}

}  // namespace rubato::simulator
