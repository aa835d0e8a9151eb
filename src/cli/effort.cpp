#include "cli/effort.hpp"

#include "rubato/core.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato::cli {
namespace {

constexpr double longest_ns = 60e9;

std::string count_text(double n) {
    if (n < 1e6) return fmt::format("{:.0f}", n);
    if (n < 1e9) return fmt::format("{:.1f} million", n / 1e6);
    return n < 1e12 ? fmt::format("{:.1f} billion", n / 1e9) : fmt::format("{:.1e}", n);
}

std::string duration_text(double seconds) {
    if (seconds < 100) return fmt::format("{:.0f} s", std::max(seconds, 1.));
    if (seconds < 6000) return fmt::format("{:.0f} minutes", seconds / 60);
    return seconds < 200e3 ? fmt::format("{:.0f} hours", seconds / 3600) : fmt::format("{:.0f} days", seconds / 86400);
}

std::string memory_text(double bytes) {
    double value = bytes / (1 << 20);
    for (const char* unit : {"MiB", "GiB", "TiB"}) {
        if (value < 1000) return fmt::format("{:.0f} {}", std::max(value, 1.), unit);
        value /= 1024;
    }
    return fmt::format("{:.0f} PiB", value);
}

}  // namespace

std::string to_string(const effort& e) {
    return fmt::format("about {} and {} for {} steps", duration_text(e.ns / 1e9), memory_text(e.bytes),
                       count_text(e.steps));
}

void refuse_large(std::string_view what, const effort& e, std::string_view way_out) {
    if (e.ns <= longest_ns && e.bytes <= most_memory) return;
    throw error(fmt::format("{} is too large", what), fmt::format("it takes {}", to_string(e)), way_out);
}

}  // namespace rubato::cli
