// Torus and mesh: switches on a grid, each joined with the next in every dimension. In a torus the last is joined with
// the first, except where a dimension has two switches: these have one cable.
#include "topology/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rubato::topology {
namespace {

std::vector<std::uint32_t> parse_sizes(std::string_view text, std::string_view list) {
    std::vector<std::uint32_t> sizes;
    std::int64_t all = 1;
    for (bool more = true; more;) {
        const std::string_view item = list.substr(0, list.find('x'));
        more = item.size() < list.size();
        list.remove_prefix(item.size() + (more ? 1 : 0));
        const std::int64_t size = parse_integer(item, "size of a dimension", 1, most_vertices);
        sizes.push_back(static_cast<std::uint32_t>(size));
        all *= size;
        if (all > most_vertices || sizes.size() > 32)
            throw error(fmt::format("'{}' is too large", text),
                        fmt::format("up to {} switches and 32 dimensions can be generated", most_vertices),
                        "give smaller sizes");
    }
    return sizes;
}

}  // namespace

network make_lattice(std::string_view text, lattice grid, std::int64_t hosts) {
    std::uint64_t all = 1;
    for (const std::uint32_t size : grid.sizes) all *= size;
    wiring w;
    w.add_switches(all);
    for (std::uint64_t s = 0; s < all; ++s)
        for (std::int64_t h = 0; h < hosts; ++h) w.attach_endpoint(static_cast<vertex>(s));
    std::uint64_t step = all;
    for (const std::uint32_t size : grid.sizes) {
        step /= size;
        for (std::uint64_t s = 0; s < all; ++s) {
            const std::uint64_t at = s / step % size;
            if (at + 1 < size) w.join(static_cast<vertex>(s), static_cast<vertex>(s + step));
            if (at + 1 == size && grid.periodic && size > 2)
                w.join(static_cast<vertex>(s), static_cast<vertex>(s - step * at));
        }
    }
    network net = std::move(w).finish(std::string(text));
    net.grid = std::move(grid);
    return net;
}

namespace {

network named_lattice(std::string_view text, std::string_view rest, bool periodic) {
    const std::string_view sizes = rest.substr(0, rest.find(','));
    constexpr std::array<std::string_view, 1> names{"hosts"};
    const parameters given(text, rest.substr(std::min(sizes.size() + 1, rest.size())), names);
    const std::int64_t hosts = number(given, "hosts", 1, 1024, 1);
    return make_lattice(text, {parse_sizes(text, sizes), periodic}, hosts);
}

}  // namespace

network torus(std::string_view text, std::string_view rest) { return named_lattice(text, rest, true); }
network mesh(std::string_view text, std::string_view rest) { return named_lattice(text, rest, false); }

}  // namespace rubato::topology
