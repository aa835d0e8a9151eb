// The networks that can be named. Of each maker, `text` is the whole that the user wrote, and `rest` what follows the
// colon.
#include "simulator/topology/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace rubato::simulator {
namespace {

/// A parameter that is a whole number, or its default.
std::int64_t number(const base::parameters& given, std::string_view name, std::int64_t low, std::int64_t high,
                    std::optional<std::int64_t> otherwise = std::nullopt) {
    if (otherwise && !given.find(name)) return *otherwise;
    return parse_integer(given.get(name), name, low, high);
}

/// The ports of each leaf of a fat tree.
struct leaf_ports {
    std::int64_t down;
    std::int64_t up;
};

/// "1:3": a third of the bandwidth of the ports below goes up.
leaf_ports split_ports(std::string_view text, std::string_view oversubscription, std::int64_t crossbar) {
    const std::size_t colon = oversubscription.find(':');
    const auto part = [](std::string_view p) { return parse_integer(p, "oversubscription", 1, 1 << 16); };
    if (colon == std::string_view::npos)
        throw error(fmt::format("oversubscription '{}' in '{}'", oversubscription, text), "it is a ratio, up to down",
                    "write it like 1:2");
    const std::int64_t up = part(oversubscription.substr(0, colon));
    const std::int64_t down = part(oversubscription.substr(colon + 1));
    if (crossbar % (up + down) != 0)
        throw error(fmt::format("oversubscription {} in '{}'", oversubscription, text),
                    fmt::format("a crossbar of {} ports cannot be split {}:{}", crossbar, up, down),
                    fmt::format("give numbers whose sum divides {}", crossbar));
    return {crossbar / (up + down) * down, crossbar / (up + down) * up};
}

/// A switch of any size, or a network that stands for one: of each port, the crossbar to which it belongs.
using box = std::vector<vertex>;

/// The ports of several boxes, one of each in turn: neighbouring ports belong to different crossbars.
box in_turn(const std::vector<box>& boxes) {
    box all;
    for (std::size_t i = 0; i < boxes.front().size(); ++i)
        for (const box& each : boxes) all.push_back(each[i]);
    return all;
}

/// Two levels of boxes: `leaves` with ports below, and as many on top as their cables up need. Cable j of leaf i goes
/// to top (i up + j) mod tops. Returns the ports below, of each leaf.
template <class Make_box>
std::vector<box> two_levels(wiring& w, std::int64_t leaves, const leaf_ports& each, Make_box make) {
    const std::int64_t size = each.down + each.up;
    std::vector<box> below;
    std::vector<vertex> cables;  // the crossbar at which each begins
    for (std::int64_t i = 0; i < leaves; ++i) {
        const box leaf = make(w);
        below.emplace_back(leaf.begin(), leaf.begin() + each.down);
        cables.insert(cables.end(), leaf.begin() + each.down, leaf.end());
    }
    if (leaves < 2) return below;
    const auto tops = static_cast<std::size_t>((leaves * each.up + size - 1) / size);
    std::vector<box> top;
    for (std::size_t t = 0; t < tops; ++t) top.push_back(make(w));
    for (std::size_t c = 0; c < cables.size(); ++c) w.join(cables[c], top[c % tops][c / tops]);
    return below;
}

// One switch: no two messages share a cable unless they share an endpoint.
network crossbar(std::string_view text, std::string_view rest) {
    const base::parameters given(text, rest, {"ports"});
    const std::int64_t ports = number(given, "ports", 1, no_port - 1);
    wiring w;
    const vertex only = w.add_switches(1);
    for (std::int64_t p = 0; p < ports; ++p) w.attach_endpoint(only);
    return std::move(w).finish(std::string(text));
}

// Recursive fat trees of equal crossbars.
//
// Depth 1: leaf crossbars with `down` endpoints and `up` cables each, and as many crossbars on top as these cables
// need. Depth k: the same, made of full fat trees of depth k - 1 instead of crossbars, half of whose ports lead up.
// Source: Hoefler 2008, II.5.1.

/// What one level is made of.
struct level {
    std::int64_t size;  ///< ports of a box
    leaf_ports split;
};

/// Of full trees: as many leaves as a top has ports.
std::vector<level> levels_of(std::string_view text, std::int64_t crossbar, std::string_view oversubscription,
                             std::int64_t depth) {
    std::vector<level> levels{{crossbar, split_ports(text, oversubscription, crossbar)}};
    while (levels.size() < static_cast<std::size_t>(depth)) {
        const std::int64_t size = levels.back().size * levels.back().split.down;
        if (size > most_vertices)
            throw error(fmt::format("'{}' is too deep", text), "its parts alone have millions of ports",
                        "give a smaller depth");
        levels.push_back({size, {size - size / 2, size / 2}});
    }
    return levels;
}

box make_box(wiring& w, std::span<const level> levels) {
    if (levels.size() == 1) return box(static_cast<std::size_t>(levels[0].size), w.add_switches(1));
    const std::span<const level> inner = levels.first(levels.size() - 1);
    return in_turn(
        two_levels(w, inner.back().size, inner.back().split, [inner](wiring& at) { return make_box(at, inner); }));
}

network fat_tree(std::string_view text, std::string_view rest) {
    const base::parameters given(text, rest, {"crossbar", "ports", "oversubscription", "depth"});
    const std::int64_t crossbar = number(given, "crossbar", 2, 4096);
    const std::int64_t ports = number(given, "ports", 1, most_vertices);
    const std::int64_t depth = number(given, "depth", 1, 8, 1);
    const std::vector<level> levels = levels_of(text, crossbar, given.find("oversubscription").value_or("1:1"), depth);
    const level& top = levels.back();
    const std::int64_t leaves = (ports + top.split.down - 1) / top.split.down;
    if (leaves > top.size)
        throw error(fmt::format("'{}' has too many ports", text),
                    fmt::format("a fat tree of that depth has up to {}", top.size * top.split.down),
                    "give fewer ports, larger crossbars or a greater depth");
    wiring w;
    std::int64_t attached = 0;
    for (const box& leaf : two_levels(w, leaves, top.split, [&levels](wiring& at) { return make_box(at, levels); }))
        for (const vertex crossbar_below : leaf)
            if (attached++ < ports) w.attach_endpoint(crossbar_below);
    return std::move(w).finish(std::string(text));
}

// Leaf crossbars below a few large switches, each a full Clos network of the same crossbars inside: how most InfiniBand
// clusters of some hundred nodes were built. CHiC (Hoefler 2008, II.4.1.2) is
// directors:crossbar=24,ports=528,oversubscription=1:1,count=2.
network directors(std::string_view text, std::string_view rest) {
    const base::parameters given(text, rest, {"crossbar", "ports", "oversubscription", "count"});
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

// k-ary n-trees: k^n endpoints, n levels of k^(n-1) switches with k cables down and k up.
//
// A switch is a level and n - 1 digits. It is joined with the switches of the next level that differ from it in one
// digit: from level l to l + 1, in digit l (of value k^l).
// Source: Petrini and Vanneschi 1997.
network k_ary_n_tree(std::string_view text, std::string_view rest) {
    const base::parameters given(text, rest, {"k", "n"});
    const std::int64_t k = number(given, "k", 1, 4096);
    const std::int64_t n = number(given, "n", 1, 20);
    std::int64_t width = 1;  // of a level
    for (std::int64_t l = 1; l < n; ++l) {
        width *= k;
        if (width * k > most_vertices)
            throw error(fmt::format("'{}' is too large", text), fmt::format("it has {}^{} endpoints", k, n),
                        "give a smaller k or n");
    }
    wiring w;
    w.add_switches(static_cast<std::uint64_t>(width * n));
    for (std::int64_t e = 0; e < width * k; ++e) w.attach_endpoint(static_cast<vertex>(e / k));
    std::int64_t value = 1;  // of the digit that may differ
    for (std::int64_t l = 0; l + 1 < n; ++l, value *= k)
        for (std::int64_t s = 0; s < width; ++s)
            for (std::int64_t digit = 0; digit < k; ++digit) {
                const std::int64_t above = s - s / value % k * value + digit * value;
                w.join(static_cast<vertex>(l * width + s), static_cast<vertex>((l + 1) * width + above));
            }
    return std::move(w).finish(std::string(text));
}

// Torus, mesh and hypercube: switches on a grid, each joined with the next in every dimension. In a torus the last is
// joined with the first, except where a dimension has two switches: these have one cable.

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

/// `hosts` endpoints at each switch of a grid.
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

network named_lattice(std::string_view text, std::string_view rest, bool periodic) {
    const std::string_view sizes = rest.substr(0, rest.find(','));
    const base::parameters given(text, rest.substr(std::min(sizes.size() + 1, rest.size())), {"hosts"});
    const std::int64_t hosts = number(given, "hosts", 1, 1024, 1);
    return make_lattice(text, {parse_sizes(text, sizes), periodic}, hosts);
}

network torus(std::string_view text, std::string_view rest) { return named_lattice(text, rest, true); }
network mesh(std::string_view text, std::string_view rest) { return named_lattice(text, rest, false); }

/// Switches whose numbers differ in one bit are joined: a mesh with two switches in each dimension.
network hypercube(std::string_view text, std::string_view rest) {
    const base::parameters given(text, rest, {"dimensions", "hosts"});
    const auto dimensions = static_cast<std::size_t>(number(given, "dimensions", 0, 20));
    const std::int64_t hosts = number(given, "hosts", 1, 1024, 1);
    return make_lattice(
        text, {std::vector<std::uint32_t>(std::max<std::size_t>(dimensions, 1), dimensions == 0 ? 1 : 2), false},
        hosts);
}

// Dragonfly: `groups` groups of `routers` switches. Within a group all are joined; each switch has `hosts` endpoints
// and `global` cables to other groups. Without `groups` there are as many as one cable between each two groups allows:
// routers global + 1.
//
// Global cable j of group g, counted from its first switch on, goes to the j-th of the other groups, and again from the
// first when all have one; those that would find no partner are left out.
// Source: Kim, Dally, Scott, Abts 2008.
network dragonfly(std::string_view text, std::string_view rest) {
    const base::parameters given(text, rest, {"groups", "routers", "hosts", "global"});
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
        for (std::int64_t r = 0; r < routers; ++r) {
            for (std::int64_t h = 0; h < hosts; ++h) w.attach_endpoint(at(g, r));
            for (std::int64_t other = r + 1; other < routers; ++other) w.join(at(g, r), at(g, other));
        }
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

// Networks that exist: a graph in the dot language, or what ibnetdiscover prints, followed by what dump_fts prints.
network from_file(std::string_view text, std::string_view rest) {
    const std::size_t comma = rest.find(",tables=");
    const std::string file(rest.substr(0, comma));
    if (file.empty()) throw error(fmt::format("'{}' names no file", text), "a network is read", "write file:NAME");
    std::string content = base::read_text(file, "network");
    const auto begins_with = [&](std::string_view word) {
        const std::size_t at = content.find_first_not_of(" \t\r\n");
        return at != std::string::npos && content.compare(at, word.size(), word) == 0;
    };
    if (comma == std::string_view::npos && (begins_with("graph") || begins_with("digraph") || begins_with("strict") ||
                                            begins_with("//") || begins_with("/*")))
        return read_dot(content, file);
    if (comma != std::string_view::npos) {
        content += '\n';
        content += base::read_text(
            std::string(base::parameters(text, rest.substr(comma + 1), {"tables"}).get("tables")), "tables");
    }
    return read_ibnetdiscover(content, file);
}

struct network_form {
    std::string_view name;
    std::string_view example;
    std::string_view what;
    network (*make)(std::string_view text, std::string_view rest);
};

constexpr std::array forms{
    network_form{"crossbar", "crossbar:ports=16", "one switch", crossbar},
    network_form{"fattree", "fattree:crossbar=24,ports=384,oversubscription=1:2,depth=1",
                 "leaves and tops of crossbars; with depth=2, of such fat trees", fat_tree},
    network_form{"directors", "directors:crossbar=24,ports=528,oversubscription=1:1,count=2",
                 "leaf crossbars below switches that are Clos networks inside", directors},
    network_form{"tree", "tree:k=4,n=3", "a k-ary n-tree: k^n endpoints, n levels of switches", k_ary_n_tree},
    network_form{"torus", "torus:8x8x8,hosts=2", "a grid of switches, closed in all dimensions; endpoints per switch",
                 torus},
    network_form{"mesh", "mesh:4x4", "an open grid of switches", mesh},
    network_form{"hypercube", "hypercube:dimensions=6", "2^dimensions switches", hypercube},
    network_form{"dragonfly", "dragonfly:groups=9,routers=4,hosts=2,global=2",
                 "groups of fully connected switches, with global cables from each", dragonfly},
    network_form{"file", "file:NAME,tables=NAME", "a graph in dot, or what ibnetdiscover and dump_fts print",
                 from_file},
};

}  // namespace

network parse_network(std::string_view text) {
    const auto [name, rest] = base::named_text(text);
    for (const network_form& f : forms)
        if (f.name == name) return f.make(text, rest);
    throw error(fmt::format("unknown network '{}'", text), fmt::format("known are {}", base::names_of(forms)),
                fmt::format("write it like {}", forms[1].example));
}

std::string network_forms() {
    std::string all;
    for (const network_form& f : forms) all += fmt::format("  {}\n      {}\n", f.example, f.what);
    return all;
}

}  // namespace rubato::simulator
