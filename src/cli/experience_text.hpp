// What is remembered of operations, as a table: for `rubato profile show` and `rubato report`.
#pragma once

#include "direct/experience.hpp"

#include <string>
#include <vector>

namespace rubato::cli {

/// An experience on a communicator of so many ranks.
struct profiled {
    std::int32_t ranks = 0;
    experience what{};
};

std::string experiences_text(const std::vector<profiled>& all);

}  // namespace rubato::cli
