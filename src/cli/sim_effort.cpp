#include "cli/sim_effort.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <thread>

namespace rubato::cli {
namespace {

constexpr double longest_of_one = 2e9;  // ns
constexpr double longest_of_all = 4e9;
constexpr double longest_to_try = 2e8;

/// Of each of so many simulations.
double memory_for(std::size_t simulations) {
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    return most_memory / static_cast<double>(std::clamp<std::size_t>(simulations, 1, cores));
}

}  // namespace

effort effort_to_simulate(const algorithm& a, const problem& p) { return {expected_steps(a, p), to_simulate}; }

bool is_quick(const effort& e) { return e.ns <= longest_to_try && e.bytes <= memory_for(SIZE_MAX); }

std::vector<bool> affordable(std::span<const effort> all) {
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

}  // namespace rubato::cli
