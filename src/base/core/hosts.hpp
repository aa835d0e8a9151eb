// Questions about the hosts of ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace rubato::base {

/// `hosts`: of each rank, by any numbers.
inline bool on_several_hosts(std::span<const std::int32_t> hosts) {
    return std::ranges::any_of(hosts, [&](std::int32_t h) { return h != hosts.front(); });
}

/// Of hosts as problem::hosts has them; none if there are no ranks.
inline std::int32_t count_hosts(std::span<const std::int32_t> hosts) {
    return hosts.empty() ? 0 : std::ranges::max(hosts) + 1;
}

/// Whether some of them have more than one rank.
inline bool are_shared(std::span<const std::int32_t> hosts) { return count_hosts(hosts) < std::ssize(hosts); }

}  // namespace rubato::base
