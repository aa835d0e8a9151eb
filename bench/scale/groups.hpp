#pragma once

#include <cstdint>
#include <string>

namespace scale {

/// A reduction with up to so many ranks, one plan for all beside plans of groups, as a table.
std::string groups_table(std::int32_t most_ranks);

}  // namespace scale
