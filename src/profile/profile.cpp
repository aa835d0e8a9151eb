#include "profile/profile.hpp"

#include "core/checksum.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato::profiles {

std::vector<std::int32_t> ranks_per_host(std::span<const std::int32_t> host_of_rank) {
    std::vector<std::int32_t> order;
    std::vector<std::int32_t> counts;
    for (const std::int32_t host : host_of_rank) {
        const auto found = std::ranges::find(order, host);
        const auto at = static_cast<std::size_t>(found - order.begin());
        if (found == order.end()) {
            order.push_back(host);
            counts.push_back(0);
        }
        ++counts[at];
    }
    return counts;
}

group group_of(std::span<const std::int32_t> world_ranks) {
    return {checksum(fmt::format("{}", fmt::join(world_ranks, ","))), static_cast<std::int32_t>(world_ranks.size())};
}

void profile::put(const group& where, experience what, std::int64_t met) {
    const place at{where, what.kind};
    known.insert_or_assign(at, memory{std::move(what), met});
}

std::vector<experience> profile::experiences_of(const group& where) const {
    std::vector<experience> all;
    for (auto at = known.lower_bound({where, {}}); at != known.end() && at->first.where == where; ++at)
        all.push_back(at->second.what);
    return all;
}

void trim(profile& p, std::size_t most) {
    if (p.known.size() <= most) return;
    std::vector<std::map<profile::place, profile::memory>::iterator> oldest_first;
    for (auto at = p.known.begin(); at != p.known.end(); ++at) oldest_first.push_back(at);
    std::ranges::stable_sort(oldest_first, {}, [](auto at) { return at->second.met; });
    oldest_first.resize(oldest_first.size() - most);
    for (const auto at : oldest_first) p.known.erase(at);
}

void check_key(const profile& p, const key& wanted, const std::string& file) {
    const auto refuse = [&](const std::string& reason) {
        throw error(fmt::format("'{}' is the profile of other runs", file), reason,
                    "give each kind of run a file of its own");
    };
    if (p.of.program != wanted.program)
        refuse(fmt::format("it is of the program {}, not {}", p.of.program, wanted.program));
    if (p.of.ranks != wanted.ranks) refuse(fmt::format("it is of {} ranks, not {}", p.of.ranks, wanted.ranks));
    if (p.of.hosts != wanted.hosts)
        refuse(
            fmt::format("its hosts have {} ranks, not {}", fmt::join(p.of.hosts, ", "), fmt::join(wanted.hosts, ", ")));
    if (p.of.library != wanted.library) refuse(fmt::format("it is of {}, not {}", p.of.library, wanted.library));
}

}  // namespace rubato::profiles
