// The networks that can be named: NETWORK is one grammar for all of Rubato.
#pragma once

#include "core/text.hpp"
#include "topology/cabling.hpp"

#include <optional>
#include <string_view>

namespace rubato::topology {

/// "crossbar:ports=16", "fattree:crossbar=32,ports=512,oversubscription=1:1,depth=1", "torus:8x8x8", "file:NAME", ...
/// Throws if it is not of that form.
RUBATO_API network parse_network(std::string_view text);
/// A line for each form, for help texts.
RUBATO_API std::string network_forms();

// A file each. `text` is the whole that the user wrote; `rest` is what follows the colon.
network crossbar(std::string_view text, std::string_view rest);
network fat_tree(std::string_view text, std::string_view rest);
network directors(std::string_view text, std::string_view rest);
network k_ary_n_tree(std::string_view text, std::string_view rest);
network torus(std::string_view text, std::string_view rest);
network mesh(std::string_view text, std::string_view rest);
network hypercube(std::string_view text, std::string_view rest);
network dragonfly(std::string_view text, std::string_view rest);
network from_file(std::string_view text, std::string_view rest);

/// `hosts` endpoints at each switch of a grid.
network make_lattice(std::string_view text, lattice grid, std::int64_t hosts);

// What from_file reads. `file` names it in errors.
network read_dot(std::string_view content, const std::string& file);
network read_ibnetdiscover(std::string_view content, const std::string& file);

/// A parameter that is a whole number, or its default.
std::int64_t number(const parameters& given, std::string_view name, std::int64_t low, std::int64_t high,
                    std::optional<std::int64_t> otherwise = std::nullopt);

/// The ports of each leaf of a fat tree.
struct leaf_ports {
    std::int64_t down;
    std::int64_t up;
};
/// "1:3": a third of the bandwidth of the ports below goes up.
leaf_ports split_ports(std::string_view text, std::string_view oversubscription, std::int64_t crossbar);

/// A switch of any size, or a network that stands for one: of each port, the crossbar to which it belongs.
using box = std::vector<vertex>;
/// The ports of several boxes, one of each in turn: neighbouring ports belong to different crossbars.
box in_turn(const std::vector<box>& boxes);

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

}  // namespace rubato::topology
