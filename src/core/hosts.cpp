#include "rubato/problem.hpp"

#include <fmt/format.h>

namespace rubato {
namespace {

std::int64_t count_of_hosts(std::string_view text, std::int32_t ranks) {
    return parse_integer(text, "number of hosts", 1, ranks);
}

}  // namespace

std::vector<std::int32_t> parse_hosts(std::string_view text, std::int32_t ranks) {
    std::vector<std::int32_t> hosts;
    if (text.empty()) return hosts;
    constexpr std::string_view cyclic = "cyclic:";
    if (text.starts_with(cyclic)) {
        const std::int64_t count = count_of_hosts(text.substr(cyclic.size()), ranks);
        for (std::int64_t r = 0; r < ranks; ++r) hosts.push_back(static_cast<std::int32_t>(r % count));
        return hosts;
    }
    if (text.find(',') == std::string_view::npos) {
        const std::int64_t count = count_of_hosts(text, ranks);
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
