#include "schedules/draw/cost_pictures.hpp"
#include "rubato/draw.hpp"
#include "schedules/draw/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace rubato {
namespace {

/// A logarithmic axis: the powers of ten around all values, or what lies between if that is less than two of them.
class axis {
public:
    axis(double least, double most, double from, double to) : from_(from), to_(to) {
        low_ = least > 0 ? std::log10(least) : 0;
        high_ = most > 0 ? std::log10(most) : 0;
        const double margin = std::max(0.06 * (high_ - low_), 0.05);
        low_ -= margin;
        high_ += margin;
    }

    double at(double value) const {
        const double share = value > 0 ? (std::log10(value) - low_) / (high_ - low_) : 0;
        return from_ + share * (to_ - from_);
    }
    /// 1, 2 and 5 times powers of ten.
    std::vector<double> marks() const {
        std::vector<double> all;
        const bool wide = high_ - low_ > 2.5;
        for (double power = std::floor(low_); power <= high_; ++power)
            for (const double lead : {1., 2., 5.}) {
                const double value = lead * std::pow(10, power);
                const double place = std::log10(value);
                if (place >= low_ && place <= high_ && (lead == 1 || !wide)) all.push_back(value);
            }
        return all;
    }

private:
    double low_, high_, from_, to_;
};

std::string with_unit(double value, std::string_view unit) {
    struct prefix {
        double size;
        const char* name;
    };
    for (const prefix p : {prefix{1, ""}, prefix{1e-3, "m"}, prefix{1e-6, "u"}, prefix{1e-9, "n"}})
        if (value >= p.size * 0.999) return fmt::format("{:.3g} {}{}", value / p.size, p.name, unit);
    return fmt::format("{:.3g} {}", value, unit);
}

template <class Value>
std::pair<double, double> range_of(const std::vector<schedules::three_costs>& all, Value value) {
    double least = INFINITY;
    double most = 0;
    for (const schedules::three_costs& c : all) {
        if (std::invoke(value, c) > 0) least = std::min(least, std::invoke(value, c));
        most = std::max(most, std::invoke(value, c));
    }
    return {std::min(least, most), most};
}

}  // namespace

std::string schedules::map_letter(std::size_t i) {
    std::string letters;
    for (std::size_t left = i + 1; left > 0; left = (left - 1) / 26)
        letters.insert(letters.begin(), static_cast<char>('a' + static_cast<char>((left - 1) % 26)));
    return letters;
}

std::string schedules::draw_map(const schedules::cost_map& m) {
    constexpr double width = 40;
    constexpr double height = 22;
    constexpr double left = 96;
    constexpr double top = 84;
    constexpr double legend_row = 20;
    const double right = left + width * static_cast<double>(m.columns.size());
    const double field_end = top + height * static_cast<double>(m.rows.size());
    const double legend = right + 34;
    std::size_t longest = 0;
    for (const std::string& name : m.names) longest = std::max(longest, name.size());
    const double bottom = std::max(field_end + 58, top + legend_row * static_cast<double>(m.names.size()) + 20);
    const double needed = 48 + 8.4 * static_cast<double>(std::max(m.title.size(), m.subtitle.size() * 3 / 4));

    schedules::svg::page out;
    out.begin(std::max(legend + 60 + 7.2 * static_cast<double>(longest), needed), bottom, m.title, m.subtitle);
    const auto swatch = [&](double x, double y, double w, double h, std::size_t name) {
        out.put(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>"
            "<text class=\"middle strong\" style=\"fill:#fff\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
            x, y, w, h, schedules::svg::colour(name, m.names.size()), x + w / 2, y + h / 2 + 4,
            schedules::map_letter(name));
    };
    for (std::size_t r = 0; r < m.rows.size(); ++r) {
        const double y = field_end - height * static_cast<double>(r + 1);
        out.write("small right", left - 8, y + 15, schedules::svg::escape(m.rows[r]));
        for (std::size_t c = 0; c < m.columns.size(); ++c)
            swatch(left + width * static_cast<double>(c), y, width - 1, height - 1, m.best[r * m.columns.size() + c]);
    }
    for (std::size_t c = 0; c < m.columns.size(); ++c)
        out.write("small middle", left + width * (static_cast<double>(c) + 0.5), field_end + 16,
                  schedules::svg::escape(m.columns[c]));
    out.write("small middle", (left + right) / 2, field_end + 38, schedules::svg::escape(m.column_title));
    out.write("small right", left - 8, top - 8, schedules::svg::escape(m.row_title));
    for (std::size_t i = 0; i < m.names.size(); ++i) {
        const double y = top + legend_row * static_cast<double>(i);
        swatch(legend, y, 22, legend_row - 4, i);
        out.put("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", legend + 30, y + 13, schedules::svg::escape(m.names[i]));
    }
    return out.end();
}

std::string schedules::draw_front(std::string_view title, std::string_view subtitle,
                                  const std::vector<schedules::three_costs>& all) {
    constexpr double left = 90;
    constexpr double top = 84;
    constexpr double width = 560;
    constexpr double height = 420;
    constexpr double list = left + width + 40;
    constexpr double row = 19;
    const auto [fast, slow] = range_of(all, &schedules::three_costs::time_ns);
    const auto [frugal, hungry] = range_of(all, &schedules::three_costs::energy_j);
    const auto [small, large] = range_of(all, &schedules::three_costs::memory);
    const axis x(fast, slow, left, left + width);
    const axis y(frugal, hungry, top + height, top);
    const double doublings = small > 0 ? std::max(std::log2(large / small), 1.) : 1;
    const auto radius = [doublings, smallest = small](double memory) {
        return memory > smallest && smallest > 0 ? 7 + 8 * std::log2(memory / smallest) / doublings : 7;
    };

    std::vector<const schedules::three_costs*> front;
    std::size_t longest = 9;
    for (const schedules::three_costs& c : all) {
        if (!c.on_front) continue;
        front.push_back(&c);
        longest = std::max(longest, c.name.size());
    }
    const double names = 7.2 * static_cast<double>(longest);
    const double bottom = std::max(top + height + 62, top + row * static_cast<double>(front.size() + 1) + 24);
    schedules::svg::page out;
    out.begin(list + names + 310, bottom, title, subtitle);
    for (const double value : x.marks())
        out.put(
            "<path class=\"grid\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/><text class=\"small middle\" x=\"{0:.1f}\" "
            "y=\"{3:.1f}\">{4}</text>\n",
            x.at(value), top, top + height, top + height + 17, with_unit(value * 1e-9, "s"));
    for (const double value : y.marks())
        out.put(
            "<path class=\"grid\" d=\"M{0:.1f} {1:.1f}H{2:.1f}\"/><text class=\"small right\" x=\"{3:.1f}\" "
            "y=\"{4:.1f}\">{5}</text>\n",
            left, y.at(value), left + width, left - 8, y.at(value) + 4, with_unit(value, "J"));
    out.put(
        "<text class=\"small middle\" x=\"{:.1f}\" y=\"{:.1f}\">time; circles are larger with more descriptor "
        "memory</text>\n<text class=\"small right\" x=\"{:.1f}\" y=\"{:.1f}\">energy</text>\n",
        left + width / 2, top + height + 40, left - 8, top - 8);
    for (const schedules::three_costs& c : all)
        if (!c.on_front)
            out.put("<circle class=\"wait\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>\n", x.at(c.time_ns),
                    y.at(c.energy_j));
    out.put(
        "<text class=\"strong\" x=\"{0:.1f}\" y=\"{1:.1f}\">the front</text><text class=\"small right\" x=\"{2:.1f}\" "
        "y=\"{1:.1f}\">time</text><text class=\"small right\" x=\"{3:.1f}\" y=\"{1:.1f}\">energy</text>"
        "<text class=\"small right\" x=\"{4:.1f}\" y=\"{1:.1f}\">memory</text>\n",
        list, top + 4, list + names + 110, list + names + 195, list + names + 280);
    for (std::size_t i = front.size(); i-- > 0;) {  // the fastest on top
        const schedules::three_costs& c = *front[i];
        const std::string colour = schedules::svg::colour(i, front.size());
        out.put(
            "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"{2:.1f}\" fill=\"{3}\" fill-opacity=\"0.85\"/>"
            "<text class=\"middle strong\" style=\"fill:#fff;font-size:10px\" x=\"{0:.1f}\" y=\"{4:.1f}\">{5}</text>\n",
            x.at(c.time_ns), y.at(c.energy_j), radius(c.memory), colour, y.at(c.energy_j) + 3.5, i + 1);
        const double line = top + row * static_cast<double>(i + 1) + 4;
        out.put(
            "<text class=\"strong\" style=\"fill:{0}\" x=\"{1:.1f}\" y=\"{2:.1f}\">{3}</text><text x=\"{4:.1f}\" "
            "y=\"{2:.1f}\">{5}</text>",
            colour, list, line, i + 1, list + 28, schedules::svg::escape(c.name));
        for (std::size_t k = 0; k < 3; ++k)
            out.put("<text class=\"right\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
                    list + names + 110 + 85 * static_cast<double>(k), line, schedules::svg::escape(c.texts[k]));
        out.put("\n");
    }
    return out.end();
}

std::string draw_bars(std::string_view title, std::string_view subtitle, std::span<const bar> bars) {
    constexpr double row = 26;
    constexpr double top = 84;
    constexpr double length = 560;
    std::size_t longest = 0;
    time_ns last{1};
    for (const bar& b : bars) {
        longest = std::max(longest, b.label.size());
        last = std::max(last, b.run_time);
    }
    const double left = 40 + 7.2 * static_cast<double>(longest);
    const double floor = top + row * static_cast<double>(bars.size());
    const double scale = length / static_cast<double>(last.count());
    const auto x = [&](double ns) { return left + ns * scale; };

    schedules::svg::page out;
    out.begin(left + length + 190, floor + 62, title, subtitle);
    const double step = schedules::svg::nice_step(static_cast<double>(last.count()), 8);
    for (int i = 0; i * step <= static_cast<double>(last.count()); ++i)
        out.put(
            "<path class=\"grid\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/><text class=\"small middle\" x=\"{0:.1f}\" "
            "y=\"{3:.1f}\">{4}"
            "</text>\n",
            x(i * step), top - 4, floor + 4, floor + 18, schedules::svg::tick_label(i * step, step));
    double y = top;
    for (const bar& b : bars) {
        const time_ns before = b.run_time - std::min(b.tail, b.run_time);
        const double split = x(static_cast<double>(before.count()));
        const double end = x(static_cast<double>(b.run_time.count()));
        out.put("<text class=\"right\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left - 10, y + 15,
                schedules::svg::escape(b.label));
        out.put("<rect class=\"wait\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"16\"/>", left, y + 2,
                split - left);
        out.put("<rect class=\"tail\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"16\"/>", split, y + 2,
                end - split);
        out.put("<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\">{}, tail {}</text>\n", end + 8, y + 15,
                format_time(b.run_time), format_time(b.tail));
        y += row;
    }
    out.put(
        "<rect class=\"wait\" x=\"{0:.1f}\" y=\"{1:.1f}\" width=\"18\" height=\"10\"/><text class=\"small\" "
        "x=\"{2:.1f}\" "
        "y=\"{3:.1f}\">run time until the last arrival</text><rect class=\"tail\" x=\"{4:.1f}\" y=\"{1:.1f}\" "
        "width=\"18\" "
        "height=\"10\"/><text class=\"small\" x=\"{5:.1f}\" y=\"{3:.1f}\">tail: after the last arrival</text>\n",
        left, floor + 34, left + 24, floor + 43, left + 210, left + 234);
    return out.end();
}

}  // namespace rubato
