// Switches whose numbers differ in one bit are joined: a mesh with two switches in each dimension.
#include "topology/generators.hpp"

#include <algorithm>
#include <array>

namespace rubato::topology {

network hypercube(std::string_view text, std::string_view rest) {
    constexpr std::array<std::string_view, 2> names{"dimensions", "hosts"};
    const parameters given(text, rest, names);
    const auto dimensions = static_cast<std::size_t>(number(given, "dimensions", 0, 20));
    const std::int64_t hosts = number(given, "hosts", 1, 1024, 1);
    return make_lattice(
        text, {std::vector<std::uint32_t>(std::max<std::size_t>(dimensions, 1), dimensions == 0 ? 1 : 2), false},
        hosts);
}

}  // namespace rubato::topology
