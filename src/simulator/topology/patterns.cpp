// The patterns of Hoefler 2008, II.4.4.1.
#include "base/core/text.hpp"
#include "simulator/topology/congestion.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato::simulator {
namespace {

/// Sizes of a grid of that many ranks, as equal as their prime factors allow, the largest first.
std::vector<std::uint32_t> grid_of(std::uint32_t ranks, std::uint32_t dimensions) {
    std::vector<std::uint32_t> primes;
    for (std::uint32_t p = 2; ranks > 1;)
        if (ranks % p == 0) {
            primes.push_back(p);
            ranks /= p;
        } else {
            p = p > ranks / p ? ranks : p + 1;  // what is left is a prime
        }
    std::vector<std::uint32_t> sizes(dimensions, 1);
    for (auto p = primes.rbegin(); p != primes.rend(); ++p) *std::ranges::min_element(sizes) *= *p;
    std::ranges::sort(sizes, std::ranges::greater{});
    return sizes;
}

round neighbours(std::uint32_t ranks, std::uint32_t dimensions) {
    round all;
    const std::vector<std::uint32_t> sizes = grid_of(ranks, dimensions);
    for (std::uint32_t r = 0; r < ranks; ++r) {
        std::uint32_t step = ranks;
        for (const std::uint32_t size : sizes) {
            step /= size;
            const std::uint32_t at = r / step % size;
            const std::uint32_t base = r - at * step;
            if (size > 1) all.messages.push_back({r, base + (at + 1) % size * step, 1});
            if (size > 2) all.messages.push_back({r, base + (at + size - 1) % size * step, 1});
        }
    }
    return all;
}

round shifted(std::uint32_t ranks, std::uint32_t by) {
    round all;
    for (std::uint32_t r = 0; r < ranks; ++r) all.messages.push_back({r, (r + by) % ranks, 1});
    return all;
}

}  // namespace

std::string_view pattern_names() { return "neighbours:1 to neighbours:6, tree, dissemination, ring, pairwise"; }

std::optional<traffic> named_pattern(std::string_view name, std::uint32_t ranks) {
    traffic all{ranks, {}};
    constexpr std::string_view grid = "neighbours";
    if (name.starts_with(grid)) {
        const std::string_view dimensions = name.substr(std::min(grid.size() + 1, name.size()));
        all.add(neighbours(ranks, static_cast<std::uint32_t>(parse_integer(dimensions, "number of dimensions", 1, 6))));
    } else if (name == "tree") {
        for (std::uint32_t have = 1; have < ranks; have *= 2) {
            round r;
            for (std::uint32_t from = 0; from < have && from + have < ranks; ++from)
                r.messages.push_back({from, from + have, 1});
            all.add(std::move(r));
        }
    } else if (name == "dissemination") {
        for (std::uint32_t by = 1; by < ranks; by *= 2) all.add(shifted(ranks, by));
    } else if (name == "ring") {
        if (ranks > 1) all.add(shifted(ranks, 1));
    } else if (name == "pairwise") {
        for (std::uint32_t by = 1; by < ranks; ++by) all.add(shifted(ranks, by));
    } else {
        return std::nullopt;
    }
    return all;
}

std::vector<mix_part> parse_mix(std::string_view text, std::uint32_t ranks) {
    std::vector<mix_part> parts;
    double spent = 0;
    for (const std::string_view item : base::split_fields(text)) {
        const std::size_t equals = item.rfind('=');
        std::optional<traffic> pattern = named_pattern(item.substr(0, equals), ranks);
        if (equals == std::string_view::npos || !pattern)
            throw error(fmt::format("'{}' in the mix '{}'", item, text),
                        fmt::format("a part is a pattern and percents, and patterns are {}", pattern_names()),
                        "write it like neighbours:3=27.4,tree=4.6");
        const double percent = base::parse_real(item.substr(equals + 1), "share in percents", 0, 100);
        spent += percent;
        parts.push_back({std::string(item.substr(0, equals)), percent, std::move(*pattern)});
    }
    if (spent > 100)
        throw error(fmt::format("the mix '{}' is {} % of the time", text, spent), "there is no more than 100 %",
                    "give smaller shares");
    return parts;
}

}  // namespace rubato::simulator
