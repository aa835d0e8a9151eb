#include "simulator/formulas/rating.hpp"

#include "base/core/overloaded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>

namespace rubato::simulator {
namespace {

constexpr std::uint32_t most_segments = 1024;
constexpr std::array<std::int32_t, 11> radices{1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32};

model without_network(model m) {
    std::visit(base::overloaded{[](hockney& n) { n.alpha = n.beta = 0; }, [](loggp& n) { n.L = n.g = n.G = 0; },
                                [](loggp5& n) { n.L = n.G = 0; }, [](loggops& n) { n.L = n.g = n.G = 0; }},
               m.network);
    return m;
}

rated rate_one(const model& m, const formula& f, const formula_problem& p) {
    rated r{&f, p, evaluate(f, m, p), evaluate(f, without_network(m), p).time_ns};
    closed_form without_time = r.value;
    without_time.time_ns = 0;
    r.dynamic_j = energy(m, without_time, p.ranks);
    r.static_j = energy(m, r.value, p.ranks) - r.dynamic_j;
    r.memory = descriptor_memory(m, r.value);
    return r;
}

bool dominates(const rated& a, const rated& b) {
    const bool no_worse = a.value.time_ns <= b.value.time_ns && a.energy_j() <= b.energy_j() && a.memory <= b.memory;
    return no_worse && (a.value.time_ns < b.value.time_ns || a.energy_j() < b.energy_j() || a.memory < b.memory);
}

/// Whether the registry's algorithm solves the problem too.
bool can_solve(const algorithm& a, std::int32_t ranks, std::int32_t radix) {
    problem p{.what = a.what, .ranks = ranks, .idempotent = true};
    if (radix > 0) p.radix = {radix};
    return !unmet_need(a, p);
}

/// The radices to try; 0 for an algorithm that takes none.
std::vector<std::int32_t> radices_for(const formula& f, const formula_problem& asked) {
    const algorithm& a = find_algorithm(f.id);
    std::vector<std::int32_t> all;
    if (!a.takes_radix)
        all = {0};
    else if (asked.radix > 0)
        all = {asked.radix};
    else
        std::ranges::copy_if(radices, std::back_inserter(all),
                             [&](std::int32_t k) { return k < asked.ranks || k == f.radix; });
    std::erase_if(all, [&](std::int32_t k) { return !can_solve(a, asked.ranks, k); });
    return all;
}

std::vector<std::uint32_t> segments_for(const formula& f, const formula_problem& asked) {
    if (!find_algorithm(f.id).segmented) return {1};
    if (asked.segments > 0) return {asked.segments};
    std::vector<std::uint32_t> all;
    for (std::uint32_t n = 1; n <= std::clamp<std::int64_t>(asked.bytes, 1, most_segments); n *= 2) all.push_back(n);
    return all;
}

}  // namespace

metric parse_metric(std::string_view name) {
    const auto found = std::ranges::find(metric_names, name);
    if (found == std::end(metric_names))
        throw error(fmt::format("unknown metric '{}'", name),
                    fmt::format("there are {}", fmt::join(metric_names, ", ")), "use one of them");
    return static_cast<metric>(found - std::begin(metric_names));
}

double rated::by_metric(metric m) const {
    switch (m) {
        case metric::time: return value.time_ns;
        case metric::overhead: return overhead_ns;
        case metric::energy: return energy_j();
        case metric::memory: return memory;
    }
    return 0;
}

std::vector<rated> rate(const model& m, collective what, const formula_problem& asked) {
    std::vector<rated> all;
    for (const formula& f : formulas(m)) {
        if (find_algorithm(f.id).what != what || !applies(f, asked)) continue;
        for (const std::int32_t radix : radices_for(f, asked))
            for (const std::uint32_t segments : segments_for(f, asked))
                all.push_back(rate_one(m, f, {asked.ranks, asked.bytes, segments, radix}));
    }
    for (rated& r : all)
        r.on_front = std::ranges::none_of(all, [&r](const rated& other) { return dominates(other, r); });
    std::ranges::stable_sort(all, {}, [](const rated& r) { return r.value.time_ns; });
    return all;
}

const rated& best_by(std::span<const rated> all, metric m) {
    return *std::ranges::min_element(all, {},
                                     [m](const rated& r) { return std::tuple(r.by_metric(m), r.value.time_ns); });
}

const rated* fastest_within(std::span<const rated> all, const budget& b) {
    const auto found = std::ranges::find_if(all, [&b](const rated& r) { return b.allows(r); });
    return found == all.end() ? nullptr : &*found;
}

}  // namespace rubato::simulator
