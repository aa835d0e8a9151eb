// Two-level scatter. The root sends the chunks of a host in one message to the first of its ranks to arrive, which
// passes them on. Hosts and ranks are served in the order of arrival. The root itself serves the ranks of its own host.
//
// Cost: (H - 1) alpha + (P - p) m beta on the root's link, H hosts, p ranks on the root's, m = one chunk; then what
// passes within hosts. The root packs the chunks of a host that are not consecutive.
// Rank counts: any, and any number of them on a host. If nothing is known of hosts, each rank has its own, and it is
// sorted_linear.
// Source: ours, after Proficz 2020, Fig. 5; leaders as in Karonis et al. 2000.
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/host_view.hpp"
#include "algorithms/pattern/in_order.hpp"

#include <algorithm>

namespace rubato {
namespace {

void serve_hosts(builder& b, const problem& p, const host_view& h) {
    const slice all = b.input(0, static_cast<std::uint32_t>(p.ranks));
    const auto own = h.members(h.mine());
    sends_in_turn in_turn(b);
    for (const rank r : by_arrival(p)) {
        for (std::size_t i = 0; i < h.hosts(); ++i)
            if (r == h.leader(i)) in_turn.send(r, in_line(b, all, h.in_rank_order(i)));
        if (std::ranges::find(own, r) != own.end()) in_turn.send(r, b.input(chunk_of(r)));
    }
    b.copy(b.input(chunk_of(p.root)), b.output());
}

void hand_on(builder& b, const problem& p, rank me, const host_view& h) {
    const std::vector<rank> sorted = h.in_rank_order(h.mine());
    const slice data = sorted.size() == 1 ? b.output() : b.scratch_chunks(static_cast<std::uint32_t>(sorted.size()));
    const auto chunk = [&](rank r) {
        return data.sub(static_cast<std::uint32_t>(std::ranges::find(sorted, r) - sorted.begin()));
    };
    b.recv(p.root, data);
    sends_in_turn in_turn(b);
    for (const rank r : h.members(h.mine()))
        if (r != me) in_turn.send(r, chunk(r));
    b.copy(chunk(me), b.output());
}

}  // namespace

schedule scatter_two_level(const problem& p, rank me) {
    const host_view h(p, me);
    builder b(p, me, 1);
    if (me == p.root)
        serve_hosts(b, p, h);
    else if (h.leads())
        hand_on(b, p, me, h);
    else
        b.recv(h.leader(h.mine()), b.output());
    return std::move(b).finish();
}

}  // namespace rubato
