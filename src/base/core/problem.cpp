#include "rubato/problem.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato {

collective parse_collective(std::string_view name) {
    std::string names;
    for (const collective_traits& t : collectives()) {
        if (t.name == name) return t.what;
        names += (names.empty() ? "" : ", ") + std::string(t.name);
    }
    throw error(fmt::format("unknown collective '{}'", name), "rubato knows " + names, "use one of them");
}

void check(const problem& p) {
    if (p.ranks < 1)
        throw error(fmt::format("{} ranks", p.ranks), "a collective needs at least one rank", "give 1 or more");
    if (p.root.value < 0 || p.root.value >= p.ranks)
        throw error(fmt::format("root {}", p.root.value), fmt::format("ranks are numbered 0 to {}", p.ranks - 1),
                    "give one of them as root");
    if (p.segments < 1 || p.segments > (1U << 20))
        throw error(fmt::format("{} segments", p.segments), "a vector is cut into 1 to 1048576 segments",
                    "give a number in that range");
    for (const std::int32_t k : p.radix)
        if (k < 1) throw error(fmt::format("radix {}", k), "a radix is a positive number", "give 1 or more");
    if (!p.arrivals.empty() && p.arrivals.size() != static_cast<std::size_t>(p.ranks))
        throw error(fmt::format("{} arrival times for {} ranks", p.arrivals.size(), p.ranks),
                    "each rank has one arrival time", "give as many times as ranks");
    if (!p.hosts.empty() && p.hosts.size() != static_cast<std::size_t>(p.ranks))
        throw error(fmt::format("hosts of {} ranks, and there are {}", p.hosts.size(), p.ranks),
                    "each rank is on one host", "give a host for each rank");
    std::vector<bool> taken(p.places.size());
    for (const std::int32_t place : p.places) {
        if (p.places.size() != static_cast<std::size_t>(p.ranks) || place < 0 || place >= p.ranks ||
            taken[static_cast<std::size_t>(place)])
            throw error(fmt::format("places of {} ranks, among them {}", p.places.size(), place),
                        fmt::format("each of {} ranks has a place of its own", p.ranks), "number them anew");
        taken[static_cast<std::size_t>(place)] = true;
    }
    const bool on_graph = traits(p.what).on_graph;
    if (on_graph != (p.neighbours != nullptr))
        throw error(fmt::format("a {} {} neighbours", traits(p.what).name, on_graph ? "without" : "with"),
                    on_graph ? "it must be known who has data for whom" : "all ranks take part in it",
                    on_graph ? "give a graph, such as torus:4x4" : "give no graph");
    if (on_graph && p.neighbours->ranks() != p.ranks)
        throw error(fmt::format("a graph of {} ranks", p.neighbours->ranks()),
                    fmt::format("there are {} ranks", p.ranks), "give one of as many");
    std::int32_t next_host = 0;
    for (const std::int32_t h : p.hosts) {
        if (h < 0 || h > next_host)
            throw error(fmt::format("host {} where {} is the next new one", h, next_host),
                        "hosts are counted from 0 in the order of their lowest ranks", "number them anew");
        if (h == next_host) ++next_host;
    }
    for (const time_ns t : p.arrivals)
        if (t > 2 * longest_time || t < -2 * longest_time)
            throw error(fmt::format("arrival {}", format_time(t)), "times are within 73 years of zero",
                        "measure from another moment");
    if (!p.arrivals.empty() && std::ranges::max(p.arrivals) - std::ranges::min(p.arrivals) > longest_time)
        throw error("arrivals more than 36 years apart", "nobody waits so long", "give smaller times");
    if (p.round_time > longest_time)
        throw error(fmt::format("round time {}", format_time(p.round_time)), "times are within 36 years",
                    "give a shorter one");
    if (p.round_time < time_ns{})
        throw error(fmt::format("round time {}", format_time(p.round_time)), "a round takes time",
                    "give what it takes to send and combine one segment");
}

std::vector<std::int32_t> parse_hosts(std::string_view text, std::int32_t ranks) {
    std::vector<std::int32_t> hosts;
    if (text.empty()) return hosts;
    const auto count_in = [ranks](std::string_view number) {
        return parse_integer(number, "number of hosts", 1, ranks);
    };
    constexpr std::string_view cyclic = "cyclic:";
    if (text.starts_with(cyclic)) {
        const std::int64_t count = count_in(text.substr(cyclic.size()));
        for (std::int64_t r = 0; r < ranks; ++r) hosts.push_back(static_cast<std::int32_t>(r % count));
        return hosts;
    }
    if (text.find(',') == std::string_view::npos) {
        const std::int64_t count = count_in(text);
        for (std::int64_t r = 0; r < ranks; ++r) hosts.push_back(static_cast<std::int32_t>(r * count / ranks));
        return hosts;
    }
    std::string_view rest = text;
    for (std::int32_t host = 0;; ++host) {
        const std::string_view item = rest.substr(0, rest.find(','));
        const auto here = parse_integer(item, "number of ranks on a host", 1, ranks);
        hosts.insert(hosts.end(), static_cast<std::size_t>(here), host);
        if (item.size() == rest.size()) break;
        rest.remove_prefix(item.size() + 1);
    }
    if (hosts.size() != static_cast<std::size_t>(ranks))
        throw error(fmt::format("hosts '{}'", text), fmt::format("that is {} ranks and not {}", hosts.size(), ranks),
                    "give numbers that add up, or the number of hosts");
    return hosts;
}

std::vector<std::string> hosts_to_try(std::int32_t ranks) {
    std::vector<std::string> all{"", "1"};
    if (ranks < 2) return all;
    all.insert(all.end(), {"2", "cyclic:2", fmt::format("1,{}", ranks - 1)});
    if (ranks > 3) all.insert(all.end(), {"3", "cyclic:3", fmt::format("{},1,2", ranks - 3)});
    return all;
}

}  // namespace rubato
