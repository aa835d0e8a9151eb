// Leaf crossbars below a few large switches, each a full Clos network of the same crossbars inside: how most InfiniBand
// clusters of some hundred nodes were built. CHiC (Hoefler 2008, II.4.1.2) is
// directors:crossbar=24,ports=528,oversubscription=1:1,count=2.
#include "topology/generators.hpp"

#include <fmt/format.h>

#include <array>

namespace rubato::topology {

network directors(std::string_view text, std::string_view rest) {
    constexpr std::array<std::string_view, 4> names{"crossbar", "ports", "oversubscription", "count"};
    const parameters given(text, rest, names);
    const std::int64_t crossbar = number(given, "crossbar", 2, 4096);
    const std::int64_t ports = number(given, "ports", 1, most_vertices);
    const std::int64_t count = number(given, "count", 1, 4096);
    const leaf_ports split = split_ports(text, given.find("oversubscription").value_or("1:1"), crossbar);
    const leaf_ports half{crossbar - crossbar / 2, crossbar / 2};
    const std::int64_t leaves = (ports + split.down - 1) / split.down;
    if (leaves * split.up > count * crossbar * half.down)
        throw error(fmt::format("'{}' has too many ports", text),
                    fmt::format("{} leaves have {} cables, and {} directors of {} ports cannot take them", leaves,
                                leaves * split.up, count, crossbar * half.down),
                    "give fewer ports or more directors");
    wiring w;
    const vertex first = w.add_switches(static_cast<std::uint64_t>(leaves));
    for (std::int64_t p = 0; p < ports; ++p) w.attach_endpoint(first + static_cast<vertex>(p / split.down));
    const auto make = [crossbar](wiring& at) { return box(static_cast<std::size_t>(crossbar), at.add_switches(1)); };
    std::vector<box> tops;
    for (std::int64_t t = 0; t < count; ++t) tops.push_back(in_turn(two_levels(w, crossbar, half, make)));
    for (std::int64_t c = 0; c < leaves * split.up; ++c)
        w.join(first + static_cast<vertex>(c / split.up),
               tops[static_cast<std::size_t>(c % count)][static_cast<std::size_t>(c / count)]);
    return std::move(w).finish(std::string(text));
}

}  // namespace rubato::topology
