#include "rubato/draw.hpp"

#include "draw/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rubato {

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

    std::string out = svg::open(left + length + 190, floor + 62, title, subtitle);
    const auto put = [&out]<class... Args>(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
    };
    const double step = svg::nice_step(static_cast<double>(last.count()), 8);
    for (int i = 0; i * step <= static_cast<double>(last.count()); ++i)
        put("<path class=\"grid\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/><text class=\"small middle\" x=\"{0:.1f}\" "
            "y=\"{3:.1f}\">{4}"
            "</text>\n",
            x(i * step), top - 4, floor + 4, floor + 18, svg::tick_label(i * step, step));
    double y = top;
    for (const bar& b : bars) {
        const time_ns before = b.run_time - std::min(b.tail, b.run_time);
        const double split = x(static_cast<double>(before.count()));
        const double end = x(static_cast<double>(b.run_time.count()));
        put("<text class=\"right\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left - 10, y + 15, svg::escape(b.label));
        put("<rect class=\"wait\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"16\"/>", left, y + 2,
            split - left);
        put("<rect class=\"tail\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"16\"/>", split, y + 2,
            end - split);
        put("<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\">{}, tail {}</text>\n", end + 8, y + 15,
            format_time(b.run_time), format_time(b.tail));
        y += row;
    }
    put("<rect class=\"wait\" x=\"{0:.1f}\" y=\"{1:.1f}\" width=\"18\" height=\"10\"/><text class=\"small\" "
        "x=\"{2:.1f}\" "
        "y=\"{3:.1f}\">run time until the last arrival</text><rect class=\"tail\" x=\"{4:.1f}\" y=\"{1:.1f}\" "
        "width=\"18\" "
        "height=\"10\"/><text class=\"small\" x=\"{5:.1f}\" y=\"{3:.1f}\">tail: after the last arrival</text>\n",
        left, floor + 34, left + 24, floor + 43, left + 210, left + 234);
    return out + svg::close();
}

}  // namespace rubato
