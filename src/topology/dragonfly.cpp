// Dragonfly: `groups` groups of `routers` switches. Within a group all are joined; each switch has `hosts` endpoints
// and `global` cables to other groups. Without `groups` there are as many as one cable between each two groups allows:
// routers global + 1.
//
// Global cable j of group g, counted from its first switch on, goes to the j-th of the other groups, and again from the
// first when all have one; those that would find no partner are left out.
// Source: Kim, Dally, Scott, Abts 2008.
#include "topology/generators.hpp"

#include <fmt/format.h>

#include <array>

namespace rubato::topology {

network dragonfly(std::string_view text, std::string_view rest) {
    constexpr std::array<std::string_view, 4> names{"groups", "routers", "hosts", "global"};
    const parameters given(text, rest, names);
    const std::int64_t routers = number(given, "routers", 1, 1024);
    const std::int64_t hosts = number(given, "hosts", 1, 1024);
    const std::int64_t global = number(given, "global", 1, 1024);
    const std::int64_t most = routers * global + 1;
    const std::int64_t groups = number(given, "groups", 1, most, most);
    if (groups * routers * (hosts + global + routers) > 8 * most_vertices)
        throw error(fmt::format("'{}' is too large", text), fmt::format("it has {} switches", groups * routers),
                    "give smaller numbers");
    wiring w;
    w.add_switches(static_cast<std::uint64_t>(groups * routers));
    const auto at = [&](std::int64_t group, std::int64_t router) {
        return static_cast<vertex>(group * routers + router);
    };
    for (std::int64_t g = 0; g < groups; ++g)
        for (std::int64_t r = 0; r < routers; ++r)
            for (std::int64_t h = 0; h < hosts; ++h) w.attach_endpoint(at(g, r));
    for (std::int64_t g = 0; g < groups; ++g)
        for (std::int64_t r = 0; r < routers; ++r)
            for (std::int64_t other = r + 1; other < routers; ++other) w.join(at(g, r), at(g, other));
    const std::int64_t others = groups - 1;
    for (std::int64_t g = 0; g < groups; ++g)
        for (std::int64_t j = 0; others > 0 && j < routers * global / others * others; ++j) {
            // Cable j leads `away` groups further; its partner there is the cable that leads back.
            const std::int64_t away = j % others + 1;
            const std::int64_t partner = (g + away) % groups;
            const std::int64_t back = j - j % others + (groups - away - 1);
            if (g < partner) w.join(at(g, j / global), at(partner, back / global));
        }
    return std::move(w).finish(std::string(text));
}

}  // namespace rubato::topology
