// Which rank is where: mappings as text and as files for MPI, and what follows from one for algorithms.
#include "simulator/topology/remap.hpp"

#include "base/core/hosts.hpp"
#include "base/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace rubato::simulator {

// The ranks in one order, in which near ranks follow each other: a walk through the network that always goes on to the
// nearest switch. A ring in this order leaves each part of a tree once, and a tree over intervals of ranks crosses the
// upper levels hardly more often than there are parts. So no algorithm has to know levels. Where ranks are equal
// (barrier, bcast, reduce and allreduce of commuting operators) the registry builds any algorithm for ranks numbered by
// their places and gives the peers their own numbers again. Where chunks belong to ranks, one message would become
// many; only algorithms that line ranks up by arrival use places there.
std::vector<std::int32_t> places_of(const network& net, const mapping& where) {
    if (where.empty()) return {};
    std::vector<vertex> left;  // switches with ranks
    for (const vertex endpoint : where) left.push_back(net.switch_of(endpoint));
    std::ranges::sort(left);
    left.erase(std::unique(left.begin(), left.end()), left.end());
    std::vector<std::uint32_t> turn(net.vertices());
    std::uint32_t next = 0;
    for (vertex here = left.front();;) {
        turn[here] = next++;
        left.erase(std::ranges::find(left, here));
        if (left.empty()) break;
        const std::vector<std::uint32_t> hops = hops_to(net, here);
        here = *std::ranges::min_element(left, {}, [&hops](vertex v) { return hops[v]; });
    }
    std::vector<std::int32_t> ranks(where.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    std::ranges::sort(ranks, {}, [&](std::int32_t r) {
        const vertex endpoint = where[static_cast<std::size_t>(r)];
        return std::tuple(turn[net.switch_of(endpoint)], endpoint, r);
    });
    std::vector<std::int32_t> places(where.size());
    for (std::size_t i = 0; i < ranks.size(); ++i)
        places[static_cast<std::size_t>(ranks[i])] = static_cast<std::int32_t>(i);
    return places;
}

std::vector<std::int32_t> groups_of(const network& net, const mapping& where) {
    std::vector<std::int32_t> hosts = numbered_hosts(where);
    if (base::are_shared(hosts)) return hosts;
    std::vector<vertex> switches;
    for (const vertex endpoint : where) switches.push_back(net.switch_of(endpoint));
    hosts = numbered_hosts(switches);
    if (!base::are_shared(hosts) || !base::on_several_hosts(hosts)) return {};
    return hosts;
}

mapping read_mapping(const std::string& text, std::uint32_t ranks, const network& net) {
    constexpr std::string_view random = "random:";
    if (text.empty()) return linear_mapping(ranks, net.endpoints());
    if (text.starts_with(random)) {
        const std::int64_t seed = parse_integer(text.substr(random.size()), "seed", 0, INT32_MAX);
        return random_mapping(ranks, net.endpoints(), static_cast<std::uint64_t>(seed), 0);
    }
    std::map<std::string, vertex, std::less<>> by_name;
    for (vertex e = 0; e < net.endpoints(); ++e) by_name.emplace(net.name_of(e), e);
    mapping where;
    for (const base::numbered_line& l : base::lines_of(base::read_text(text, "mapping"), text, "mapping"))
        for (const std::string_view field : base::split_fields(l.text)) {
            const std::string what = fmt::format("endpoint (mapping '{}', line {})", text, l.number);
            const auto named = by_name.find(field);
            where.push_back(named != by_name.end()
                                ? named->second
                                : static_cast<vertex>(parse_integer(field, what, 0, net.endpoints() - 1)));
        }
    if (where.size() != ranks)
        throw error(fmt::format("mapping '{}'", text),
                    fmt::format("it has {} endpoints for {} ranks", where.size(), ranks),
                    "give the endpoint of each rank");
    return where;
}

std::vector<std::string> read_hosts(const std::string& file, const network& net) {
    std::vector<std::string> names;
    if (file.empty()) {
        for (vertex e = 0; e < net.endpoints(); ++e) names.push_back(net.name_of(e));
        return names;
    }
    for (const base::numbered_line& l : base::lines_of(base::read_text(file, "hosts"), file, "hosts"))
        names.emplace_back(l.text.substr(0, l.text.find_first_of(" \t:")));
    if (names.size() < net.endpoints())
        throw error(fmt::format("hosts '{}'", file),
                    fmt::format("it has {} lines, and the network {} endpoints", names.size(), net.endpoints()),
                    "give the host of each endpoint, one per line");
    return names;
}

std::string rankfile(const mapping& where, const std::vector<std::string>& hosts) {
    std::vector<std::uint32_t> used(hosts.size(), 0);
    std::string text;
    for (std::size_t r = 0; r < where.size(); ++r)
        text += fmt::format("rank {}={} slot={}\n", r, hosts[where[r]], used[where[r]]++);
    return text;
}

std::string machine_file(const mapping& where, const std::vector<std::string>& hosts) {
    std::string text;
    for (const vertex host : where) text += fmt::format("{}:1\n", hosts[host]);
    return text;
}

}  // namespace rubato::simulator
