// The map of `rubato model`: the best algorithm over numbers of ranks and sizes.
#pragma once

#include "formulas/rating.hpp"

#include <string>
#include <vector>

namespace rubato::cli {

/// Powers of two, up to these.
struct map_limits {
    std::int32_t ranks = 0;
    std::int64_t bytes = 0;
};

struct map_cell {
    std::int32_t ranks = 0;
    std::int64_t bytes = 0;
    rated best{};
};

/// By size, then by ranks. `asked` has radix and segments.
std::vector<map_cell> make_map(const model& m, collective what, metric by, const map_limits& limits,
                               const formula_problem& asked);
/// Sizes down, ranks across, a letter for each algorithm, and what the letters mean.
std::string map_text(const std::vector<map_cell>& cells);
/// The same as a picture.
std::string map_picture(const std::vector<map_cell>& cells, const std::string& title, const std::string& subtitle);
std::string map_json(const std::vector<map_cell>& cells, metric by);

}  // namespace rubato::cli
