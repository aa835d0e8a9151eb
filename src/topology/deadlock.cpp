// Deadlock freedom: no circle in the graph whose vertices are channels, with an edge where some route uses one channel
// right after the other (Dally and Seitz 1987).
#include "topology/routing.hpp"

#include <algorithm>
#include <iterator>

namespace rubato::topology {

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

}  // namespace rubato::topology
