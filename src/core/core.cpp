#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace rubato {
namespace {

constexpr std::array size_units{
    unit{"", 1.},       unit{"B", 1.},        unit{"k", 1e3},        unit{"kB", 1e3},         unit{"KB", 1e3},
    unit{"M", 1e6},     unit{"MB", 1e6},      unit{"G", 1e9},        unit{"GB", 1e9},         unit{"Ki", 1024.},
    unit{"KiB", 1024.}, unit{"Mi", 1048576.}, unit{"MiB", 1048576.}, unit{"Gi", 1073741824.}, unit{"GiB", 1073741824.},
};
constexpr std::array time_units{
    unit{"", 1.}, unit{"ns", 1.}, unit{"us", 1e3}, unit{"ms", 1e6}, unit{"s", 1e9},
};

constexpr double most = 9.2e18;

std::int64_t to_integer(double value, std::string_view text) {
    if (value > most)
        throw error(fmt::format("'{}' is too large", text), "it does not fit in 63 bits", "give a smaller value");
    return std::llround(value);
}

}  // namespace

double parse_with_unit(std::string_view text, std::span<const unit> units, std::string_view what,
                       std::string_view example) {
    double number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code == std::errc{} && std::isfinite(number) && number >= 0) {
        const std::string_view name(end, static_cast<std::size_t>(text.data() + text.size() - end));
        for (const unit& u : units)
            if (u.name == name) return number * u.factor / u.divisor;
    }
    std::string names;
    for (const unit& u : units)
        if (!u.name.empty()) names += (names.empty() ? "" : ", ") + std::string(u.name);
    throw error(fmt::format("'{}' is not a {}", text, what), fmt::format("expected a number and one of {}", names),
                fmt::format("write for example {}", example));
}

error::error(std::string_view problem, std::string_view reason, std::string_view way_out)
    : std::runtime_error(fmt::format("{}: {}; {}", problem, reason, way_out)) {}

std::int64_t parse_bytes(std::string_view text) {
    // A double does not hold all of these.
    std::int64_t whole = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (code == std::errc{} && end == text.data() + text.size() && whole >= 0 && static_cast<double>(whole) <= most)
        return whole;
    const double value = parse_with_unit(text, size_units, "size", "4MiB");
    const std::int64_t bytes = to_integer(value, text);
    // 2.3M is 2300000 bytes, though 2.3 * 1e6 is a little less.
    if (std::abs(value - static_cast<double>(bytes)) > 1e-9 * value)
        throw error(fmt::format("'{}' is not a size", text), "a size is a whole number of bytes",
                    fmt::format("write for example {}", std::max<std::int64_t>(bytes, 1)));
    return bytes;
}

time_ns parse_time(std::string_view text) { return time_ns(to_integer(parse_time_exact(text), text)); }

double parse_time_exact(std::string_view text) { return parse_with_unit(text, time_units, "time", "50us"); }

std::int64_t parse_integer(std::string_view text, std::string_view what, std::int64_t low, std::int64_t high) {
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc{} || end != text.data() + text.size() || number < low || number > high)
        throw error(fmt::format("'{}' is not a {}", text, what),
                    fmt::format("it must be a whole number from {} to {}", low, high), "correct it");
    return number;
}

std::string format_bytes(std::int64_t bytes) {
    constexpr std::array names{"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    auto value = static_cast<double>(bytes);
    while (value >= 1024 && unit + 1 < names.size()) {
        value /= 1024;
        ++unit;
    }
    return value == std::floor(value) ? fmt::format("{:.0f} {}", value, names[unit])
                                      : fmt::format("{:.1f} {}", value, names[unit]);
}

std::string format_time(time_ns t) {
    const auto ns = static_cast<double>(t.count());
    const double magnitude = std::abs(ns);
    if (magnitude < 1e3) return fmt::format("{:.0f} ns", ns);
    if (magnitude < 1e6) return fmt::format("{:.2f} us", ns / 1e3);
    if (magnitude < 1e9) return fmt::format("{:.3f} ms", ns / 1e6);
    return fmt::format("{:.3f} s", ns / 1e9);
}

}  // namespace rubato
