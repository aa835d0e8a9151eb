// Which ranks share a host, as numbers: problem::hosts.
#pragma once

#include "rubato/core.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rubato {

/// Hosts by whatever names each rank's, as problem::hosts has them: counted from 0 in the order of their lowest ranks.
template <class Name>
std::vector<std::int32_t> numbered_hosts(const std::vector<Name>& host_of) {
    std::map<Name, std::int32_t> numbers;
    std::vector<std::int32_t> hosts;
    hosts.reserve(host_of.size());
    for (const Name& h : host_of)
        hosts.push_back(numbers.try_emplace(h, static_cast<std::int32_t>(numbers.size())).first->second);
    return hosts;
}

/// "4": that many hosts with neighbouring ranks on each, as equal as can be; "cyclic:4": rank r is on host r mod 4;
/// "3,1,2": so many neighbouring ranks on each. Nothing: each rank has its own.
RUBATO_API std::vector<std::int32_t> parse_hosts(std::string_view text, std::int32_t ranks);
/// Hosts of every kind for that many ranks, as parse_hosts reads them; the first is that each rank has its own.
RUBATO_API std::vector<std::string> hosts_to_try(std::int32_t ranks);

}  // namespace rubato
