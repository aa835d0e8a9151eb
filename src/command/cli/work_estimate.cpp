#include "command/cli/work_estimate.hpp"
#include "rubato/core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <thread>

namespace rubato::command {
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

constexpr double longest_of_one = 2e9;  // ns
constexpr double longest_of_all = 4e9;
constexpr double longest_to_try = 2e8;

/// Of each of so many simulations.
double memory_for(std::size_t simulations) {
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    return most_memory / static_cast<double>(std::clamp<std::size_t>(simulations, 1, cores));
}

}  // namespace

std::string to_string(const work_estimate& e) {
    return fmt::format("about {} and {} for {} steps", duration_text(e.ns / 1e9), memory_text(e.bytes),
                       count_text(e.steps));
}

void refuse_large(std::string_view what, const work_estimate& e, std::string_view way_out) {
    if (e.ns <= longest_ns && e.bytes <= most_memory) return;
    throw error(fmt::format("{} is too large", what), fmt::format("it takes {}", to_string(e)), way_out);
}

work_estimate work_to_simulate(const algorithm& a, const problem& p) {
    return {simulator::expected_steps(a, p), to_simulate};
}

bool is_quick(const work_estimate& e) { return e.ns <= longest_to_try && e.bytes <= memory_for(SIZE_MAX); }

std::vector<bool> affordable(std::span<const work_estimate> all) {
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return all[i].ns; });
    std::vector<bool> chosen(all.size());
    double sum = 0;
    for (const std::size_t i : order) {
        if (all[i].bytes > memory_for(all.size())) continue;
        sum += all[i].ns;
        chosen[i] = all[i].ns <= longest_of_one && sum <= longest_of_all;
    }
    return chosen;
}

}  // namespace rubato::command
