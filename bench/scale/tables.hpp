// The tables of docs/scale.md.
#pragma once

#include "rivalry.hpp"

namespace scale {

struct contested {
    const entrants* who;
    std::int32_t ranks;
    std::vector<std::vector<result>> results;
};

/// A row per collective: best classic tail divided by best arrival-aware tail, by pattern. Only for runs with up to
/// `most_ranks` ranks.
std::string summary(const std::vector<contested>& all, std::int32_t most_ranks);
/// A table per collective and size.
std::string tables(const std::vector<contested>& all);

}  // namespace scale
