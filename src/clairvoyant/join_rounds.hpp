// From which round on each process can take part, and what follows from that alone.
#pragma once

#include "clairvoyant/clairvoyant.hpp"

#include <span>
#include <vector>

namespace rubato::clairvoyant {

/// The first round of each rank: r such that arrival <= earliest + (r + 1) d. With drift, the first round in which the
/// rule could have it take part: from round N on, it may be a round earlier.
///
/// The rule measures from the earliest available member of its group, which moves when that member leaves. It does not
/// move before the root has joined: who comes first is then the sink, which receives in every round and so never
/// leaves. It moves no further than to the root's availability, for the root never leaves. And nobody leaves before
/// having sent N times. So the rule lets nobody take part before the round given here.
std::vector<std::int64_t> join_rounds(const instance& in, bool with_drift);

/// The same as lower_bound(in); joins: join_rounds(in, true).
std::int64_t lower_bound(const instance& in, std::span<const std::int64_t> joins);

}  // namespace rubato::clairvoyant
