// Calls whose arrivals are expected to be alike.
#pragma once

#include "rubato/problem.hpp"

namespace rubato {

/// All ranks agree on it: the place in the source is not part of it.
struct operation {
    collective what = collective::barrier;
    std::uint8_t size_class = 0;  ///< 0: no bytes; c: from 2^(c-1) to 2^c - 1 bytes
    rank root{};                  ///< 0 where there is none

    auto operator<=>(const operation&) const = default;
};

/// `bytes` as all ranks know them, not below 0.
RUBATO_API operation operation_of(collective what, rank root, std::int64_t bytes);

}  // namespace rubato
