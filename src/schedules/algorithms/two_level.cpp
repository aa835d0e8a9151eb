// First among the ranks of a host, then among hosts, or the other way round.
#include "schedules/algorithms/builders.hpp"
#include "schedules/algorithms/pattern/arrival_order.hpp"
#include "schedules/algorithms/pattern/host_view.hpp"
#include "schedules/algorithms/pattern/in_order.hpp"
#include "schedules/algorithms/pattern/movement.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace rubato::schedules {
namespace {

/// The schedules of some of a smaller problem's ranks, which one computation makes.
class planned_level {
public:
    explicit planned_level(subproblem l) : of_(std::move(l)) {}

    void want(rank me) { wanted_.push_back(me); }
    void plan() {
        std::vector<schedule> all = reduce_clairvoyant_plus(of_.what, wanted_);
        for (std::size_t i = 0; i < wanted_.size(); ++i) schedules_.emplace(wanted_[i], std::move(all[i]));
    }
    /// Once for each rank.
    void embed_in(builder& b, rank me, slice input, slice output) {
        b.embed(schedules_.extract(me).mapped(), of_.who, input, output);
    }
    std::size_t ranks() const { return of_.who.size(); }

private:
    subproblem of_;
    std::vector<rank> wanted_{};
    std::map<rank, schedule> schedules_{};
};

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

/// For a host other than the root's: the chunks that go to the root in one message, in the order of ranks.
std::vector<parcel> batches_of(const problem& p, const host_view& h, std::size_t host) {
    std::vector<parcel> all;
    time_ns first{};
    for (const rank r : h.members(host)) {
        if (all.empty() || arrival(p, r) - first > p.round_time) {
            first = arrival(p, r);
            all.push_back({h.leader(host), {}});
        }
        all.back().ranks.push_back(r);
    }
    for (parcel& b : all) std::ranges::sort(b.ranks);
    return all;
}

/// The messages that the root receives, in the order in which they can be complete.
std::vector<parcel> batches_for_root(const problem& p, const host_view& h) {
    std::vector<parcel> all;
    for (std::size_t i = 0; i < h.hosts(); ++i)
        if (i != h.mine()) std::ranges::move(batches_of(p, h, i), std::back_inserter(all));
    for (const rank r : h.members(h.mine()))
        if (r != p.root) all.push_back({r, {r}});
    const auto when = [&p](rank r) { return arrival(p, r); };
    std::ranges::stable_sort(all, {}, [&](const parcel& b) { return when(std::ranges::max(b.ranks, {}, when)); });
    return all;
}

/// The chunks of these ranks, one after the other.
slice collect(builder& b, rank me, const std::vector<rank>& ranks) {
    if (ranks.size() == 1 && ranks.front() == me) return b.input();
    const slice data = b.scratch_chunks(static_cast<std::uint32_t>(ranks.size()));
    for (std::uint32_t i = 0; i < data.count; ++i) {
        if (ranks[i] == me)
            b.copy(b.input(), data.sub(i));
        else
            b.recv(ranks[i], data.sub(i));
    }
    return data;
}

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

/// Two-level reduce. The ranks of a host combine their data at the first of them to arrive, or at the root. These
/// leaders do the same among the hosts, where a host arrives when all its ranks have. Both as in clairvoyant_plus.
/// Cost: that of reduce/clairvoyant_plus within the largest host, then among the hosts: of H hosts, H - 1 vectors cross
/// between them. With all ranks on one host it is clairvoyant_plus.
/// Rank counts: any, and any number of them on a host. If nothing is known of hosts, each rank has its own.
/// Source: ours; leaders as in Karonis et al. 2000.
std::vector<schedule> reduce_two_level(const problem& p, std::span<const rank> who) {
    if (who.empty()) return {};
    host_view h(p, who.front());
    if (h.hosts() == 1) return reduce_clairvoyant_plus(p, who);
    planned_level leaders(h.among_leaders(host_view::ready::with_all));
    std::map<std::size_t, planned_level> hosts;
    std::vector<rank> within(static_cast<std::size_t>(p.ranks));  // its host
    for (std::size_t host = 0; host < h.hosts(); ++host)
        for (std::int32_t i = 0; const rank r : h.members(host)) within[static_cast<std::size_t>(r.value)] = rank(i++);
    for (const rank me : who) {
        h.see_from(me);
        auto host = hosts.find(h.mine());
        if (host == hosts.end()) host = hosts.emplace(h.mine(), h.within_host(collective::reduce, p.segments)).first;
        host->second.want(within[static_cast<std::size_t>(me.value)]);
        if (h.leads()) leaders.want(rank(static_cast<std::int32_t>(h.mine())));
    }
    leaders.plan();
    for (auto& [number, host] : hosts) host.plan();
    std::vector<schedule> all;
    all.reserve(who.size());
    for (const rank me : who) {
        h.see_from(me);
        builder b(p, me, p.segments);
        planned_level& host = hosts.at(h.mine());
        slice sum = b.input();
        if (host.ranks() > 1) {
            sum = h.leads() ? b.scratch_chunks() : b.output();
            host.embed_in(b, within[static_cast<std::size_t>(me.value)], b.input(), sum);
        }
        if (h.leads()) leaders.embed_in(b, rank(static_cast<std::int32_t>(h.mine())), sum, b.output());
        all.push_back(std::move(b).finish());
    }
    return all;
}

/// Two-level scatter. The root sends the chunks of a host in one message to the first of its ranks to arrive, which
/// passes them on. Hosts and ranks are served in the order of arrival. The root itself serves the ranks of its own
/// host.
/// Cost: (H - 1) alpha + (P - p) m beta on the root's link, H hosts, p ranks on the root's, m = one chunk; then
/// what passes within hosts. The root packs the chunks of a host that are not consecutive. Rank counts: any, and any
/// number of them on a host. If nothing is known of hosts, each rank has its own, and it is sorted_linear. Source:
/// ours, after Proficz 2020, Fig. 5; leaders as in Karonis et al. 2000.
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

/// Two-level gather. The ranks of a host send their chunks to the first of them to arrive, which passes them on to the
/// root. Chunks of ranks that arrive within a round of each other go in one message, so that no chunk waits long for
/// another. In the root's own host they go to the root.
/// Cost: (H - 1) alpha + (P - p) m beta on the root's link if all have arrived, H hosts, p ranks on the root's, m = one
/// chunk, after what passes within hosts. If one rank comes T after the others, the larger of that and T + 2 alpha + 2
/// m beta. The root unpacks chunks that come together and are not consecutive. Rank counts: any, and any number of them
/// on a host. If nothing is known of hosts, each rank has its own. Source: ours; leaders as in Karonis et al. 2000.
schedule gather_two_level(const problem& p, rank me) {
    const host_view h(p, me);
    builder b(p, me, 1);
    if (me == p.root) {
        take_parcels(b, b.output(0, static_cast<std::uint32_t>(p.ranks)), batches_for_root(p, h));
        b.copy(b.input(), b.output(chunk_of(me)));
    } else if (h.leads()) {
        for (const parcel& one : batches_of(p, h, h.mine())) b.send(p.root, collect(b, me, one.ranks));
    } else {
        b.send(h.leader(h.mine()), b.input());
    }
    return std::move(b).finish();
}

/// Two-level allgather. The ranks of a host send their chunks to the first of them to arrive, the leader. Leaders send
/// chunks to each other in the order in which owner and receiver have arrived; chunks within a round of each other go
/// to a different host each time. When all ranks of a host have arrived, they get the received chunks, and each later
/// one, along a line.
/// Cost: (P - p)(alpha + m beta) on a leader's link, m = one chunk, p ranks on a host, if all have
/// arrived; within a host (P - 1) chunks pass each rank beside that. After a last arrival, if all else is done, (H -
/// 1)(alpha + m beta), H hosts, and p - 1 messages within a host. With all ranks on one host it is the sorted ring.
/// Rank counts: any, and any number of them on a host. If nothing is known of hosts, each rank has its own. Source:
/// ours; leaders as in Karonis et al. 2000.
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

}  // namespace rubato::schedules
