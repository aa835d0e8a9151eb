// A vector that lies scattered, one part at each position 0..n-1, is brought together at one position by a binomial
// tree. Positions are ranks in another order: the order of the parts.
#pragma once

#include "rubato/builder.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace rubato {

struct gather_place {
    struct interval {
        std::uint32_t position;  ///< who holds these parts
        block first;
        std::uint32_t count;
    };
    interval mine;  ///< the parts that pass through this position; all at the root
    std::optional<std::uint32_t> parent{};
    std::vector<interval> children{};  ///< larger ones first
};

/// The depth is ceil(log2 positions).
gather_place binomial_gather_place(std::uint32_t positions, std::uint32_t root, std::uint32_t me);
/// Appends the gather. `home` holds the parts of place.mine.
void gather_parts(builder& b, const gather_place& place, const std::function<rank(std::uint32_t)>& rank_at, slice home);

}  // namespace rubato
