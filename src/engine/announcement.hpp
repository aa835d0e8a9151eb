// How one rank tells another of an invocation: everything that determines its plan, and no handle.
#pragma once

#include "engine/player.hpp"

#include <span>
#include <utility>
#include <vector>

namespace rubato {

/// `bytes` as the other rank has them.
std::vector<std::int64_t> announcement(std::uint64_t number, const intent& i, std::int64_t bytes);
/// The number and the intent.
std::pair<std::uint64_t, intent> announced(std::span<const std::int64_t> text, std::int32_t ranks);

}  // namespace rubato
