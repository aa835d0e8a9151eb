// Which build this is.
#pragma once

#include "rubato/core.hpp"

#include <cstdint>

namespace rubato::base {

/// Of all source files, from 0 to 2^60: equal on machines of any kind that were built from the same sources. Made by
/// cmake/source_hash.cmake.
RUBATO_API std::int64_t source_hash();

}  // namespace rubato::base
