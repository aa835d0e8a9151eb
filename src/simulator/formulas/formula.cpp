#include "simulator/formulas/formula.hpp"

#include "base/core/overloaded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace rubato::simulator {
namespace {

std::vector<formula> join() {
    std::vector<formula> all;
    for (const auto part : {rooted_formulas(), unrooted_formulas()}) all.insert(all.end(), part.begin(), part.end());
    std::ranges::sort(all, {}, [](const formula& f) { return &find_algorithm(f.id); });
    return all;
}

bool is_complete_tree(std::int64_t ranks, std::int64_t k) {
    std::int64_t all = 1;
    for (std::int64_t level = k; all < ranks; level *= k) all += level;
    return all == ranks;
}

/// A radix is for all algorithms of a problem, also those that take none.
std::int32_t radix_of(const formula& f, const formula_problem& p) {
    return p.radix > 0 && find_algorithm(f.id).takes_radix ? p.radix : f.radix;
}

}  // namespace

std::span<const formula> formulas(const model& m) {
    static const std::vector<formula> all = join();
    const auto none = [&m]() -> std::span<const formula> {
        throw error(
            fmt::format("no closed forms under {}", network_text(m)), "they are those of LogGP",
            "give loggp5:L=..,o=..,G=.., loggp:L=..,o=..,g=..,G=.., logfgp:... or a preset, such as infiniband2008");
    };
    using found = std::span<const formula>;
    return std::visit(
        base::overloaded{[&](const hockney&) { return none(); },
                         [](const loggp& n) -> found { return n.is_logfgp() ? logfgp_formulas() : loggp_formulas(); },
                         [](const loggp5&) -> found { return all; }, [&](const loggops&) { return none(); }},
        m.network);
}

const formula* find_formula(const model& m, std::string_view id) {
    const auto all = formulas(m);
    const auto found = std::ranges::find(all, id, &formula::id);
    return found == all.end() ? nullptr : &*found;
}

bool applies(const formula& f, const formula_problem& p) {
    return f.fit != formula_fit::only_powers_of_two || is_power_of_two(p.ranks);
}

bool is_exact(const formula& f, const formula_problem& p) {
    if (p.ranks == 1) return true;
    switch (f.fit) {
        case formula_fit::always: return true;
        case formula_fit::powers_of_two:
        case formula_fit::only_powers_of_two: return is_power_of_two(p.ranks);
        case formula_fit::complete_trees: return p.segments == 1 && is_complete_tree(p.ranks, radix_of(f, p));
        case formula_fit::whole_vectors: return p.segments == 1;
        case formula_fit::nearly: return false;
    }
    return false;
}

closed_form evaluate(const formula& f, const model& m, const formula_problem& p) {
    if (p.ranks < 2) return {};
    formula_terms t;
    std::visit(base::overloaded{[](const hockney&) {}, [](const loggops&) {},  // no formula is of these
                                [&t](const loggp5& n) { t = {.L = n.L, .o = n.o, .G = n.G, .o_min = n.o}; },
                                [&t](const loggp& n) {
                                    t = {n.L, n.o, n.g, n.G, n.least_o(), static_cast<double>(n.f), n.combine};
                                }},
               m.network);
    t.P = p.ranks;
    t.s = static_cast<double>(p.bytes);
    t.x = t.s * t.G;
    t.N = p.segments;
    t.n = ceil_log2(p.ranks);
    t.k = radix_of(f, p);
    closed_form c = f.value(t);
    c.time_ns = std::round(c.time_ns * 1e3) / 1e3;  // so that equal sums of other terms are equal
    return c;
}

double energy(const model& m, const closed_form& c, std::int32_t ranks) {
    return c.time_ns / 1e9 * m.static_power * ranks + c.messages * m.message_energy + c.bytes * m.byte_energy;
}

double descriptor_memory(const model& m, const closed_form& c) {
    return c.most_sent * static_cast<double>(m.descriptor);
}

}  // namespace rubato::simulator
