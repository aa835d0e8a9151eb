// Two-level gather. The ranks of a host send their chunks to the first of them to arrive, which passes them on to the
// root. Chunks of ranks that arrive within a round of each other go in one message, so that no chunk waits long for
// another. In the root's own host they go to the root.
//
// Cost: (H - 1) alpha + (P - p) m beta on the root's link if all have arrived, H hosts, p ranks on the root's, m = one
// chunk, after what passes within hosts. If one rank comes T after the others, the larger of that and T + 2 alpha + 2 m
// beta. The root unpacks chunks that come together and are not consecutive.
// Rank counts: any, and any number of them on a host. If nothing is known of hosts, each rank has its own.
// Source: ours; leaders as in Karonis et al. 2000.
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/host_view.hpp"
#include "algorithms/pattern/in_order.hpp"

#include <algorithm>

namespace rubato {
namespace {

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

}  // namespace

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

}  // namespace rubato
