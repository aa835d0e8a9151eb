// Recursive fat trees of equal crossbars.
//
// Depth 1: leaf crossbars with `down` endpoints and `up` cables each, and as many crossbars on top as these cables
// need. Depth k: the same, made of full fat trees of depth k - 1 instead of crossbars, half of whose ports lead up.
// Source: Hoefler 2008, II.5.1.
#include "topology/generators.hpp"

#include <fmt/format.h>

#include <array>

namespace rubato::topology {
namespace {

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

}  // namespace

box in_turn(const std::vector<box>& boxes) {
    box all;
    for (std::size_t i = 0; i < boxes.front().size(); ++i)
        for (const box& each : boxes) all.push_back(each[i]);
    return all;
}

network fat_tree(std::string_view text, std::string_view rest) {
    constexpr std::array<std::string_view, 4> names{"crossbar", "ports", "oversubscription", "depth"};
    const parameters given(text, rest, names);
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

}  // namespace rubato::topology
