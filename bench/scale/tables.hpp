// The tables of docs/scale.md.
#pragma once

#include "contest.hpp"

namespace scale {

struct contested {
    const entrants* who;
    std::int32_t ranks;
    std::vector<std::vector<result>> results;
};

/// A row per collective: how many times as long the best classic one takes after the last arrival, by pattern.
std::string summary(const std::vector<contested>& all);
/// A table per collective and size.
std::string tables(const std::vector<contested>& all);

}  // namespace scale
