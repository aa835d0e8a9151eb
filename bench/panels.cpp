#include "panels.hpp"

#include "schedules/draw/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace {

using namespace rubato;

constexpr double plot_width = 350;
constexpr double plot_height = 170;
constexpr double left = 70;
constexpr double top = 110;
constexpr double gap_x = 75;
constexpr double gap_y = 75;

/// Where a value lies between the ends of an axis: 0 to 1.
double share(const axis& a, double value) {
    const auto scale = [&a](double v) { return a.logarithmic ? std::log(v) : v; };
    const double low = scale(a.marks.front());
    return (scale(value) - low) / (scale(a.marks.back()) - low);
}

std::string legend(double x, double y, const std::vector<curve>& curves) {
    std::string out;
    for (std::size_t i = 0; i < curves.size(); ++i, y += 22)
        out += fmt::format(
            "<line x1=\"{0}\" y1=\"{1}\" x2=\"{2}\" y2=\"{1}\" stroke=\"{3}\" stroke-width=\"2.5\"/>\n"
            "<text x=\"{4}\" y=\"{5}\">{6}</text>\n",
            x, y, x + 28, schedules::svg::colour(i, curves.size()), x + 38, y + 4,
            schedules::svg::escape(curves[i].name));
    return out;
}

}  // namespace

std::string draw_panels(std::string_view title, std::string_view subtitle, const axis& x, const axis& y,
                        const std::vector<panel>& panels) {
    const std::size_t rows = panels.size() / 2 + 1;
    const double width = left + 2 * plot_width + gap_x + 30;
    std::string out =
        schedules::svg::open(width, top + static_cast<double>(rows) * (plot_height + gap_y), title, subtitle);
    double x0 = left;
    double y0 = top;
    const auto next = [&](std::size_t i) {
        x0 = left + static_cast<double>(i % 2) * (plot_width + gap_x);
        const std::size_t row = i / 2;
        y0 = top + static_cast<double>(row) * (plot_height + gap_y);
    };
    for (std::size_t i = 0; i < panels.size(); ++i) {
        next(i);
        out += fmt::format("<text class=\"strong\" x=\"{}\" y=\"{}\">{}</text>\n", x0, y0 - 12,
                           schedules::svg::escape(panels[i].title));
        for (const double mark : x.marks) {
            const double at = x0 + share(x, mark) * plot_width;
            out += fmt::format("<line class=\"grid\" x1=\"{0}\" y1=\"{1}\" x2=\"{0}\" y2=\"{2}\"/>\n", at, y0,
                               y0 + plot_height);
            out += fmt::format("<text class=\"small middle\" x=\"{}\" y=\"{}\">{}</text>\n", at, y0 + plot_height + 16,
                               mark);
        }
        for (const double mark : y.marks) {
            const double at = y0 + (1 - share(y, mark)) * plot_height;
            out += fmt::format("<line class=\"grid\" x1=\"{0}\" y1=\"{2:.2f}\" x2=\"{1}\" y2=\"{2:.2f}\"/>\n", x0,
                               x0 + plot_width, at);
            out += fmt::format("<text class=\"small right\" x=\"{}\" y=\"{:.2f}\">{}</text>\n", x0 - 8, at + 4, mark);
        }
        out += fmt::format("<text class=\"small middle\" x=\"{}\" y=\"{}\">{}</text>\n", x0 + plot_width / 2,
                           y0 + plot_height + 34, schedules::svg::escape(x.label));
        out += fmt::format("<text class=\"small middle\" transform=\"translate({} {}) rotate(-90)\">{}</text>\n",
                           x0 - 44, y0 + plot_height / 2, schedules::svg::escape(y.label));
        out += fmt::format("<clipPath id=\"p{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n", i,
                           x0, y0 - 2, plot_width, plot_height + 4);
        // The first curve is what the others are compared with, so it lies on top.
        for (std::size_t c = panels[i].curves.size(); c-- > 0;) {
            std::string points;
            for (const auto& [at, value] : panels[i].curves[c].points)
                points += fmt::format("{:.1f},{:.1f} ", x0 + share(x, at) * plot_width,
                                      y0 + (1 - share(y, value)) * plot_height);
            points.pop_back();
            out += fmt::format(
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-linejoin=\"round\" "
                "clip-path=\"url(#p{})\"/>\n",
                points, schedules::svg::colour(c, panels[i].curves.size()), i);
        }
    }
    next(panels.size());
    return out + legend(x0, y0 + 6, panels.front().curves) + schedules::svg::close();
}
