// One switch: no two messages share a cable unless they share an endpoint.
#include "topology/generators.hpp"

#include <array>

namespace rubato::topology {

network crossbar(std::string_view text, std::string_view rest) {
    constexpr std::array<std::string_view, 1> names{"ports"};
    const parameters given(text, rest, names);
    const std::int64_t ports = number(given, "ports", 1, no_port - 1);
    wiring w;
    const vertex only = w.add_switches(1);
    for (std::int64_t p = 0; p < ports; ++p) w.attach_endpoint(only);
    return std::move(w).finish(std::string(text));
}

}  // namespace rubato::topology
