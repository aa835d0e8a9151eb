#include "core/text.hpp"
#include "topology/remap.hpp"

#include <fmt/format.h>

#include <map>

namespace rubato::topology {

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
    for (const numbered_line& l : lines_of(read_text(text, "mapping"), text, "mapping"))
        for (const std::string_view field : split_fields(l.text)) {
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
    for (const numbered_line& l : lines_of(read_text(file, "hosts"), file, "hosts"))
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

}  // namespace rubato::topology
