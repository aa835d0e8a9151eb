// The round from which each process can take part, and the bound that follows from it.
#pragma once

#include "clairvoyant/clairvoyant.hpp"

#include <span>
#include <vector>

namespace rubato::clairvoyant {

/// The first round of each rank: r such that arrival <= earliest + (r + 1) d. With drift, the first round in which the
/// rule could have it take part: from round N on, it may be a round earlier.
///
/// The rule measures from the earliest available member of its group, which changes when that member leaves. It does
/// not change before the root has joined: until then the first member is the sink, which receives in every round and so
/// never leaves. It moves no further than to the root's availability, because the root never leaves. And no member
/// leaves before it has sent N times. So the rule lets no process take part before the round given here.
std::vector<std::int64_t> join_rounds(const instance& in, bool with_drift);

/// The same as lower_bound(in); joins: join_rounds(in, true).
std::int64_t lower_bound(const instance& in, std::span<const std::int64_t> joins);

}  // namespace rubato::clairvoyant
