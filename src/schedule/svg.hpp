// What the SVG pictures share: their look on light and dark, and text that is safe in XML.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace rubato::svg {

/// Told apart on white and on near black.
inline constexpr std::array palette{"#2f7fd1", "#d9603b", "#2a9d68", "#a05fc4", "#c79318", "#d14d8b",
                                    "#1f9fb3", "#7c8f2e", "#6f6ad6", "#b5553a", "#4e9a4a", "#8a7a6a"};

std::string escape(std::string_view text);

/// The head of a file: size, accessible title, styles, background, heading and a smaller line below it.
std::string open(double width, double height, std::string_view title, std::string_view subtitle);
inline std::string close() { return "</svg>\n"; }

/// A step of 1, 2 or 5 times a power of ten that cuts `span` into at most `most` pieces.
double nice_step(double span, int most);
/// "20 ms" for a place on an axis whose marks are `step` nanoseconds apart.
std::string tick_label(double ns, double step);

}  // namespace rubato::svg
