#include "network/loggp_fit.hpp"

#include "network/line_fit.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace rubato {
namespace {

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

}  // namespace rubato
