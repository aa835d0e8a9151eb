#include "simulator/topology/routing.hpp"

#include "base/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rubato::simulator {
namespace {

constexpr std::array all_methods{
    method{"given", "the tables that the network came with", given_tables},
    method{"modulo", "of the shortest ways the one with the destination's number, modulo how many there are",
           modulo_tables},
    method{"balanced", "the shortest way over the least used channels, destination after destination (Dijkstra)",
           balanced_tables},
    method{"updown", "up*/down*: to the root of a spanning tree and away from it, never up again", up_down_tables},
    method{"dimension", "on grids: one dimension after the other, the shorter way", dimension_order_tables},
};

constexpr std::uint64_t most_entries = std::uint64_t{1} << 30;  // two bytes each

}  // namespace

tree_to::tree_to(const network& net) : net_(&net), next_(net.vertices()), seen_(net.vertices()) {
    for (vertex e = 0; e < net.endpoints(); ++e) used_.push_back(net.switch_of(e));
    std::ranges::sort(used_);
    used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
}

std::optional<vertex> tree_to::read(std::span<const port> row, vertex to) {
    call_ += 2;  // call_: on the present path; call_ + 1: in order
    order_.clear();
    for (const vertex start : used_) {
        path_.clear();
        for (vertex v = start; v != to; v = net_->head(next_[v])) {
            if (seen_[v] == call_ + 1) break;
            const port p = net_->is_switch(v) ? row[v - net_->endpoints()] : no_port;
            if (seen_[v] == call_ || p >= net_->out(v).size()) return start;
            seen_[v] = call_;
            next_[v] = net_->out(v)[p];
            path_.push_back(v);
        }
        for (; !path_.empty(); path_.pop_back()) {
            seen_[path_.back()] = call_ + 1;
            order_.push_back(path_.back());
        }
    }
    return std::nullopt;
}

routes::routes(const network& net, std::string_view name, std::vector<port> tables)
    : net_(&net), name_(name), endpoints_(net.endpoints()), switches_(net.switches()), tables_(std::move(tables)) {
    assert(tables_.size() == std::size_t{endpoints_} * switches_);
    tree_to tree(net);
    for (vertex to = 0; to < endpoints_; ++to)
        if (const auto lost = tree.read(row(to), to))
            throw error(fmt::format("the forwarding tables of '{}' are not complete", net.name()),
                        fmt::format("messages from {} to {} do not arrive", net.name_of(*lost), net.name_of(to)),
                        "correct the tables, or choose another --routing");
}

std::span<const method> methods() { return all_methods; }

routes route(const network& net, std::string_view name) {
    if (name.empty()) name = !net.tables.empty() ? "given" : !net.grid.sizes.empty() ? "dimension" : "balanced";
    const std::uint64_t entries = std::uint64_t{net.endpoints()} * net.switches();
    if (entries > most_entries)
        throw error(fmt::format("'{}' is too large", net.name()),
                    fmt::format("{} endpoints and {} switches need tables of {}", net.endpoints(), net.switches(),
                                format_bytes(static_cast<std::int64_t>(2 * entries))),
                    "give a smaller network");
    for (const method& m : all_methods)
        if (m.name == name) return {net, m.name, m.tables(net)};
    throw error(fmt::format("unknown routing '{}'", name), fmt::format("known are {}", base::names_of(all_methods)),
                "give one of them");
}

std::vector<port> given_tables(const network& net) {
    if (net.tables.empty())
        throw error(fmt::format("'{}' has no forwarding tables", net.name()),
                    "only files with the output of dump_fts have them", "choose another --routing");
    return net.tables;
}

// Deadlock freedom: no circle in the graph whose vertices are channels, with an edge where some route uses one channel
// right after the other (Dally and Seitz 1987).
std::vector<channel> find_deadlock(const routes& r) {
    const network& net = r.net();
    // Of each channel, which of the channels that leave its head follow it.
    std::vector<std::uint64_t> first(net.channels() + 1U, 0);
    for (channel c = 0; c < net.channels(); ++c) first[c + 1] = first[c] + net.out(net.head(c)).size();
    std::vector<bool> follows(first.back(), false);
    tree_to tree(net);
    for (vertex to = 0; to < net.endpoints(); ++to) {
        const std::span<const port> row = r.row(to);
        tree.read(row, to);
        for (const vertex v : tree.order())
            if (const vertex w = net.head(tree.next(v)); w != to)
                follows[first[tree.next(v)] + row[w - net.endpoints()]] = true;
    }

    enum class state : std::uint8_t { fresh, open, closed };
    std::vector<state> states(net.channels(), state::fresh);
    struct visit {
        channel c;
        port next = 0;
    };
    std::vector<visit> path;
    for (channel start = 0; start < net.channels(); ++start) {
        if (states[start] != state::fresh) continue;
        path.push_back({start});
        states[start] = state::open;
        while (!path.empty()) {
            visit& at = path.back();
            const std::span<const channel> out = net.out(net.head(at.c));
            while (at.next < out.size() && !follows[first[at.c] + at.next]) ++at.next;
            if (at.next == out.size()) {
                states[at.c] = state::closed;
                path.pop_back();
                continue;
            }
            const channel c = out[at.next++];
            if (states[c] == state::open) {
                std::vector<channel> circle;
                const auto begin = std::ranges::find(path, c, &visit::c);
                std::transform(begin, path.end(), std::back_inserter(circle), [](const visit& v) { return v.c; });
                return circle;
            }
            if (states[c] == state::closed) continue;
            states[c] = state::open;
            path.push_back({c});
        }
    }
    return {};
}

}  // namespace rubato::simulator
