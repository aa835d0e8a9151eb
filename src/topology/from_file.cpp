// Networks that exist: a graph in the dot language, or what ibnetdiscover prints, followed by what dump_fts prints.
#include "topology/generators.hpp"

#include <fmt/format.h>

#include <array>

namespace rubato::topology {

network from_file(std::string_view text, std::string_view rest) {
    const std::size_t comma = rest.find(",tables=");
    const std::string file(rest.substr(0, comma));
    if (file.empty()) throw error(fmt::format("'{}' names no file", text), "a network is read", "write file:NAME");
    std::string content = read_text(file, "network");
    const auto begins_with = [&](std::string_view word) {
        const std::size_t at = content.find_first_not_of(" \t\r\n");
        return at != std::string::npos && content.compare(at, word.size(), word) == 0;
    };
    if (comma == std::string_view::npos && (begins_with("graph") || begins_with("digraph") || begins_with("strict") ||
                                            begins_with("//") || begins_with("/*")))
        return read_dot(content, file);
    if (comma != std::string_view::npos) {
        constexpr std::array<std::string_view, 1> names{"tables"};
        content += '\n';
        content += read_text(std::string(parameters(text, rest.substr(comma + 1), names).get("tables")), "tables");
    }
    return read_ibnetdiscover(content, file);
}

}  // namespace rubato::topology
