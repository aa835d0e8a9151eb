// Two-level allgather. The ranks of a host send their chunks to the first of them to arrive, the leader. Leaders send
// chunks to each other in the order in which owner and receiver have arrived; chunks within a round of each other go to
// a different host each time. When all ranks of a host have arrived, they get the received chunks, and each later one,
// along a line.
//
// Cost: (P - p)(alpha + m beta) on a leader's link, m = one chunk, p ranks on a host, if all have arrived; within a
// host (P - 1) chunks pass each rank beside that. After a last arrival, if all else is done, (H - 1)(alpha + m beta), H
// hosts, and p - 1 messages within a host. With all ranks on one host it is the sorted ring. Rank counts: any, and any
// number of them on a host. If nothing is known of hosts, each rank has its own. Source: ours; leaders as in Karonis et
// al. 2000.
#include "algorithms/builders.hpp"
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/host_view.hpp"
#include "algorithms/pattern/movement.hpp"

#include <algorithm>
#include <tuple>

namespace rubato {
namespace {

/// A chunk goes from this host's leader to another's, comes from there, or comes to the leader within the host.
struct move {
    std::int64_t round;  // in which the owner and the receiver have arrived
    std::size_t step;    // from the sending host around to the receiving one
    bool comes;          // received chunks last: they are passed on then, and sends should not wait for that
    std::size_t place;   // of the owner in its host
    std::size_t from;
    std::size_t to;

    auto key() const { return std::tuple(round, step, comes, place); }
};

/// All hosts have the same order, so that no two wait for each other.
std::vector<move> moves_of(const problem& p, const host_view& h) {
    const time_ns round = std::max(p.round_time, time_ns(1));
    const time_ns earliest = p.arrivals.empty() ? time_ns{} : std::ranges::min(p.arrivals);
    std::vector<move> all;
    const auto add = [&](std::size_t from, std::size_t to) {
        const std::size_t step = (to + h.hosts() - from) % h.hosts();
        for (std::size_t i = 0; i < h.members(from).size(); ++i) {
            const time_ns both = std::max(arrival(p, h.members(from)[i]), arrival(p, h.leader(to)));
            all.push_back({(both - earliest) / round, step, to == h.mine(), i, from, to});
        }
    };
    for (std::size_t other = 0; other < h.hosts(); ++other) {
        add(h.mine(), other);
        if (other != h.mine()) add(other, h.mine());
    }
    std::ranges::sort(all, {}, &move::key);
    return all;
}

/// Along the line of a host's ranks.
void hand_down(builder& b, rank me, std::span<const rank> line, rank owner) {
    const slice data = owner == me ? b.input() : b.output(chunk_of(owner));
    const auto mine = std::ranges::find(line, me);
    if (mine != line.begin() && owner != me) b.recv(*(mine - 1), data);
    if (mine + 1 != line.end() && owner != *(mine + 1)) b.send(*(mine + 1), data);
}

}  // namespace

schedule allgather_two_level(const problem& p, rank me) {
    const host_view h(p, me);
    if (h.hosts() == 1) return std::move(allgather_sorted_ring(p, std::span(&me, 1)).front());
    builder b(p, me, 1);
    const std::span<const rank> line = h.members(h.mine());
    if (!h.leads()) b.send(line.front(), b.input());
    std::vector<rank> waiting;  // owners of received chunks, while the host is not complete
    std::size_t missing = line.size();
    for (const move& m : moves_of(p, h)) {
        const rank owner = h.members(m.from)[m.place];
        if (h.leads() && m.comes && owner != me)
            b.recv(m.from == h.mine() ? owner : h.leader(m.from), b.output(chunk_of(owner)));
        if (h.leads() && !m.comes) b.send(h.leader(m.to), owner == me ? b.input() : b.output(chunk_of(owner)));
        if (!m.comes) continue;
        if (m.from == h.mine()) --missing;
        waiting.push_back(owner);
        if (missing > 0) continue;
        for (const rank r : waiting) hand_down(b, me, line, r);
        waiting.clear();
    }
    b.copy(b.input(), b.output(chunk_of(me)));
    return std::move(b).finish();
}

}  // namespace rubato
