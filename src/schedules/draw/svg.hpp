// What the SVG pictures share: their look on light and dark, and text that is safe in XML.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace rubato::schedules::svg {

/// The colour of number i of n, seen on white and on near black: few are told apart, many are steps of a rainbow.
std::string colour(std::size_t i, std::size_t n);
constexpr std::size_t few = 12;

std::string escape(std::string_view text);

/// The head of a file: size, accessible title, styles, background, heading and a smaller line below it.
std::string open(double width, double height, std::string_view title, std::string_view subtitle);
inline std::string close() { return "</svg>\n"; }

/// A picture while it is drawn.
class page {
public:
    void begin(double width, double height, std::string_view title, std::string_view subtitle) {
        out_ = open(width, height, title, subtitle);
    }
    std::string end() { return std::move(out_) + close(); }

    template <class... Args>
    void put(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    }
    /// `what` must be safe in XML.
    template <class T>
    void write(std::string_view classes, double x, double y, const T& what) {
        put("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", classes, x, y, what);
    }

private:
    std::string out_{};
};

/// A step of 1, 2 or 5 times a power of ten that cuts `span` into at most `most` pieces.
double nice_step(double span, int most);
/// "20 ms" for a place on an axis whose marks are `step` nanoseconds apart.
std::string tick_label(double ns, double step);

}  // namespace rubato::schedules::svg
