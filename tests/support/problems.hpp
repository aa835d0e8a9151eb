// Problems to try algorithms on, and what it costs to solve them.
#pragma once

#include "rubato/algorithm.hpp"
#include "rubato/cost.hpp"
#include "rubato/problem.hpp"
#include "rubato/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

namespace rubato {

/// If the collective is among neighbours: all those around in a torus.
inline void add_neighbours(problem& p) {
    if (!traits(p.what).on_graph) return;
    const bool even = p.ranks % 2 == 0 && p.ranks > 2;
    p.neighbours =
        parse_graph(even ? fmt::format("moore:2x{}", p.ranks / 2) : fmt::format("moore:{}", p.ranks), p.ranks);
}

inline problem problem_for(const algorithm& a, std::int32_t ranks, std::int32_t root = 0) {
    problem p;
    p.what = a.what;
    p.ranks = ranks;
    p.root = rank(root);
    add_neighbours(p);
    if (a.host_aware) p.hosts = parse_hosts(fmt::format("cyclic:{}", (ranks + 2) / 3), ranks);
    return p;
}

/// All roots of few ranks, some of many.
inline std::vector<std::int32_t> roots(const algorithm& a, std::int32_t ranks) {
    if (!traits(a.what).rooted) return {0};
    if (ranks > 33) return {0, ranks / 2 + 1};
    if (ranks > 12) return {0, 1, ranks / 2, ranks - 1};
    std::vector<std::int32_t> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

/// What the algorithm costs, with chunks of this many bytes.
inline cost cost_of(const algorithm& a, const problem& p, std::int64_t chunk = 1) {
    const std::vector<layout> sizes{layout::uniform(chunk)};
    return count_cost(build_all(a, p), sizes);
}

/// When the last rank leaves, under the Hockney model, if all arrive together.
inline std::int64_t hockney_time(std::span<const schedule> all, const hockney& m, std::int64_t chunk) {
    const std::vector<layout> sizes{layout::uniform(chunk)};
    const std::vector<time_ns> arrivals(all.size());
    const simulation result = simulate({m}, all, sizes, arrivals);
    return std::ranges::max(result.exits).count();
}

/// Rounds in lock step: every message takes one, and a rank sends one and receives one in a round.
inline std::int64_t lock_step_rounds(std::span<const schedule> all) { return hockney_time(all, {1, 0, 0}, 1); }

}  // namespace rubato
