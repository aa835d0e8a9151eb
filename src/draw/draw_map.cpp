#include "draw/cost_pictures.hpp"
#include "draw/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rubato {

std::string map_letter(std::size_t i) {
    std::string letters;
    for (std::size_t left = i + 1; left > 0; left = (left - 1) / 26)
        letters.insert(letters.begin(), static_cast<char>('a' + static_cast<char>((left - 1) % 26)));
    return letters;
}

std::string draw_map(const cost_map& m) {
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

    std::string out =
        svg::open(std::max(legend + 60 + 7.2 * static_cast<double>(longest), needed), bottom, m.title, m.subtitle);
    const auto put = [&out]<class... Args>(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
    };
    const auto swatch = [&](double x, double y, double w, double h, std::size_t name) {
        put("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>"
            "<text class=\"middle strong\" style=\"fill:#fff\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
            x, y, w, h, svg::colour(name, m.names.size()), x + w / 2, y + h / 2 + 4, map_letter(name));
    };
    for (std::size_t r = 0; r < m.rows.size(); ++r) {
        const double y = field_end - height * static_cast<double>(r + 1);
        put("<text class=\"small right\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left - 8, y + 15,
            svg::escape(m.rows[r]));
        for (std::size_t c = 0; c < m.columns.size(); ++c)
            swatch(left + width * static_cast<double>(c), y, width - 1, height - 1, m.best[r * m.columns.size() + c]);
    }
    for (std::size_t c = 0; c < m.columns.size(); ++c)
        put("<text class=\"small middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
            left + width * (static_cast<double>(c) + 0.5), field_end + 16, svg::escape(m.columns[c]));
    put("<text class=\"small middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", (left + right) / 2, field_end + 38,
        svg::escape(m.column_title));
    put("<text class=\"small right\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left - 8, top - 8,
        svg::escape(m.row_title));
    for (std::size_t i = 0; i < m.names.size(); ++i) {
        const double y = top + legend_row * static_cast<double>(i);
        swatch(legend, y, 22, legend_row - 4, i);
        put("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", legend + 30, y + 13, svg::escape(m.names[i]));
    }
    return out + svg::close();
}

}  // namespace rubato
