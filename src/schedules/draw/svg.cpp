#include "schedules/draw/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace rubato::schedules::svg {
namespace {

/// Classes rather than variables: not every viewer knows CSS variables.
constexpr std::string_view styles = R"(<style>
text { font-family: system-ui, 'Helvetica Neue', Arial, sans-serif; font-size: 12px; fill: #2b3040; }
.heading { font-size: 17px; font-weight: 600; }
.small { font-size: 11px; fill: #6b7385; }
.strong { font-weight: 700; }
.right { text-anchor: end; }
.middle { text-anchor: middle; }
.paper { fill: #ffffff; }
.grid { stroke: #e6e9f0; stroke-width: 1; }
.lane { stroke: #c9cfdb; }
.absent { stroke: #ccd2dd; stroke-dasharray: 2 4; }
.event { stroke: #6b7385; stroke-width: 1; stroke-dasharray: 5 4; }
.ink { fill: #2b3040; stroke: #2b3040; }
.hole { fill: #ffffff; stroke: #2b3040; }
.work { fill: #f0b429; stroke: none; }
.wait { fill: #cfd6e4; }
.tail { fill: #2f7fd1; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e8f1; }
  .small { fill: #98a2b8; }
  .paper { fill: #12151c; }
  .grid { stroke: #232936; }
  .lane { stroke: #414b5e; }
  .absent { stroke: #3a4355; }
  .event { stroke: #98a2b8; }
  .ink { fill: #e4e8f1; stroke: #e4e8f1; }
  .hole { fill: #12151c; stroke: #e4e8f1; }
  .wait { fill: #3a4355; }
}
</style>
)";

constexpr std::array<std::uint32_t, few> distinct{0x2f7fd1, 0xd9603b, 0x2a9d68, 0xa05fc4, 0xc79318, 0xd14d8b,
                                                  0x1f9fb3, 0x7c8f2e, 0x6f6ad6, 0xb5553a, 0x4e9a4a, 0x8a7a6a};
constexpr std::array<std::uint32_t, 7> rainbow{0x2f6fd1, 0x1f9fb3, 0x2a9d68, 0xb59a1c, 0xd9703b, 0xd14d8b, 0x9a5fd0};

}  // namespace

std::string colour(std::size_t i, std::size_t n) {
    i = std::min(i, n - 1);
    if (n <= few) return fmt::format("#{:06x}", distinct[i]);
    const double at = static_cast<double>(i) / static_cast<double>(n - 1) * static_cast<double>(rainbow.size() - 1);
    const auto below = std::min(static_cast<std::size_t>(at), rainbow.size() - 2);
    const double share = at - static_cast<double>(below);
    const auto mix = [&](unsigned shift) {
        const auto channel = [shift](std::uint32_t rgb) { return static_cast<double>(rgb >> shift & 0xff); };
        return std::lround(channel(rainbow[below]) * (1 - share) + channel(rainbow[below + 1]) * share);
    };
    return fmt::format("#{:02x}{:02x}{:02x}", mix(16), mix(8), mix(0));
}

std::string escape(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '&': out += "&amp;"; break;
            case '"': out += "&quot;"; break;
            default: out += c;
        }
    }
    return out;
}

std::string open(double width, double height, std::string_view title, std::string_view subtitle) {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\" "
        "role=\"img\">\n<title>{2}</title>\n{3}<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
        "<text class=\"heading\" x=\"24\" y=\"34\">{2}</text>\n<text class=\"small\" x=\"24\" y=\"53\">{4}</text>\n",
        width, height, escape(title), styles, escape(subtitle));
}

double nice_step(double span, int most) {
    const double least = std::max(1., span / most);
    const double power = std::pow(10, std::floor(std::log10(least)));
    for (const double lead : {1., 2., 5.})
        if (power * lead >= least) return power * lead;
    return power * 10;
}

std::string tick_label(double ns, double step) {
    struct tick_unit {
        double size;
        const char* name;
    };
    for (const tick_unit u : {tick_unit{1e9, "s"}, tick_unit{1e6, "ms"}, tick_unit{1e3, "us"}})
        if (step >= u.size / 10) return fmt::format("{:g} {}", ns / u.size, u.name);
    return fmt::format("{:g} ns", ns);
}

}  // namespace rubato::schedules::svg
