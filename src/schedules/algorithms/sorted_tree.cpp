#include "schedules/algorithms/builders.hpp"
#include "schedules/algorithms/pattern/arrival_order.hpp"
#include "schedules/algorithms/pattern/in_order.hpp"
#include "schedules/algorithms/pattern/tree.hpp"
#include "schedules/algorithms/pattern/two_tree.hpp"

#include <algorithm>

namespace rubato::schedules {
namespace {

schedule down_the_line(const problem& p, rank me, const std::vector<rank>& line) {
    builder b(p, me, 1);
    const lined_up_tree t(p.root, me, line);
    const auto branches = t.branches();
    sends_in_turn in_turn(b);
    if (!t.parent()) {
        const slice input = b.input(0, static_cast<std::uint32_t>(p.ranks));
        for (const auto& [child, ranks] : branches) in_turn.send(child, in_line(b, input, ranks));
        b.copy(b.input(chunk_of(me)), b.output());
        return std::move(b).finish();
    }
    std::uint32_t chunks = 1;
    for (const auto& branch : branches) chunks += static_cast<std::uint32_t>(branch.ranks.size());
    const slice data = chunks == 1 ? b.output() : b.scratch_chunks(chunks);
    b.recv(*t.parent(), data);
    std::uint32_t passed = 1;
    for (const auto& [child, ranks] : branches) {
        const auto n = static_cast<std::uint32_t>(ranks.size());
        in_turn.send(child, data.sub(passed, n));
        passed += n;
    }
    b.copy(data.sub(0), b.output());
    return std::move(b).finish();
}

schedule allgather_and_straggler(const problem& p, rank me, const std::vector<rank>& line, const all_but_one& others) {
    builder b(p, me, 1);
    const rank last = line.back();
    const rank giver = line[line.size() - 2];
    const slice all = b.output(0, static_cast<std::uint32_t>(p.ranks));
    const slice theirs = line_for(b, all, others.who);
    if (me == last) {
        b.recv(giver, theirs);
    } else {
        const problem before = others.among(p, p.what);
        b.embed(allgather_bruck(before, others.number(me)), others.who, b.input(), theirs);
        if (me == giver) b.send(last, theirs);
    }
    unpack_line(b, theirs, all, others.who);
    const tree down = lined_up_tree(last, me, {line.begin(), line.end() - 1}).shape();
    const slice chunk = me == last ? b.input() : b.output(chunk_of(last));
    if (down.parent) b.recv(*down.parent, chunk);
    for (const rank child : down.children) b.send(child, chunk);
    if (me == last) b.copy(b.input(), b.output(chunk_of(me)));
    return std::move(b).finish();
}

schedule barrier_and_straggler(const problem& p, rank me, const std::vector<rank>& line, const all_but_one&) {
    builder b(p, me, 1);
    const rank last = line.back();
    if (me == last) {
        b.recv(line.front(), builder::nothing());
    } else {
        barrier_on(b, lined_up_tree(line.front(), me, {line.rbegin() + 1, line.rend() - 1}).shape());
        if (me == line.front()) b.send(last, builder::presence());
    }
    // The last rank waits for no other.
    const tree down = lined_up_tree(last, me, {line.begin(), line.end() - 1}).shape();
    if (me == last) {
        for (const rank child : down.children) b.send(child, builder::presence());
    } else {
        const auto heard = b.recv(*down.parent, builder::nothing());
        for (const rank child : down.children) b.send(child, builder::presence(), {heard});
    }
    return std::move(b).finish();
}

}  // namespace

/// Trees in which the first ranks to arrive take part first, and the last ones are leaves.

/// Sorted binomial scatter (SBN; BSBN if begun early). As the binomial scatter, but the first ranks to arrive take part
/// first, so that later ranks are leaves, and no rank waits for a later one to pass data on.
///
/// A subtree's chunks are sent in the order in which they are passed on, so only the root packs them, and only if they
/// are not consecutive already.
/// Cost: as binomial, n alpha + (P - 1) m beta, n = ceil(log2 P), m = one chunk, if all have arrived. If one rank comes
/// T after the others, the larger of that and T + alpha + m beta; begun early, the larger of that and T.
/// Rank counts: any. If all but the root are predicted to arrive together, it is the binomial scatter.
/// Source: Proficz 2020, Figs 7 and 8.
std::vector<schedule> scatter_sorted_binomial(const problem& p, std::span<const rank> who) {
    if (others_together(p)) return build_each(who, [&p](rank me) { return scatter_binomial(p, me); });
    return build_each(who, [&p, line = by_arrival(p)](rank me) { return down_the_line(p, me, line); });
}

/// Sorted binomial gather (SBN; BSBN if begun early). As the binomial gather, but the first ranks to arrive send first,
/// and the last ones are nearest to the root and send last.
/// Cost: as binomial, n alpha + (P - 1) m beta, n = ceil(log2 P), m = one chunk, if all have arrived. A late rank adds
/// its lateness, as it receives half of the chunks only then. Begun early, these chunks wait for it, and if it comes T
/// after the others, the time is the larger of this and T + alpha + P/2 m beta. A late root, begun early: the larger of
/// this and T.
/// Rank counts: any. If all but the root are predicted to arrive together, it is the binomial gather.
/// Source: Proficz 2020, Figs 11 and 12.
std::vector<schedule> gather_sorted_binomial(const problem& p, std::span<const rank> who) {
    if (others_together(p)) return build_each(who, [&p](rank me) { return gather_binomial(p, me); });
    std::vector<rank> latest_first = by_arrival(p);
    std::ranges::reverse(latest_first);
    return build_each(who, [&](rank me) {
        builder b(p, me, 1);
        const slice all = b.output(0, static_cast<std::uint32_t>(p.ranks));
        gather_lined_up(b, me, lined_up_tree(p.root, me, latest_first), all);
        return std::move(b).finish();
    });
}

/// Sorted tree. All ranks but the last to arrive exchange their chunks as in Bruck's algorithm. When the last rank has
/// arrived, its chunk goes to everybody down its own binomial tree, and a leaf of that tree sends it all other chunks.
/// If no single rank is expected long after the others, all use Bruck's algorithm.
/// Cost: the larger of n (alpha + m beta) and 2 alpha + (P - 1) m beta after the last arrival, n = ceil(log2 P), m =
/// one chunk; begun early n (alpha + m beta), which is the bound for a small chunk that is not cut. Bruck's needs n
/// alpha + (P - 1) m beta; before the last arrival the others need as much. So it pays if the last rank arrives that
/// long after them: P rounds, or two thirds, as a round's time includes combining, or caution. Where latency dominates
/// that is too long, but nothing is lost: the bound is n alpha. Rank counts: any. Source: ours, after Proficz 2020,
/// Fig. 11.
std::vector<schedule> allgather_sorted_tree(const problem& p, std::span<const rank> who) {
    return build_for_straggler(p, who, 2 * std::int64_t{p.ranks} / 3, allgather_and_straggler, allgather_bruck);
}

/// Sorted tree barrier. All ranks but the last to arrive signal up a tree in which later ranks are closer to the root,
/// down again, and to the last rank. When the last rank arrives, it signals all others down its own binomial tree. A
/// rank leaves when it has both signals. If no rank is expected long after the others, dissemination is used.
/// Cost: n (L + 2o) after the last arrival, n = ceil(log2 P), which is the bound: in each step twice as many can know
/// of it. A barrier that goes up and down needs 2n. Rank counts: any. Source: ours.
std::vector<schedule> barrier_sorted_tree(const problem& p, std::span<const rank> who) {
    return build_for_straggler(p, who, rounds_up_and_down(p), barrier_and_straggler, barrier_dissemination);
}

/// Sorted linear pipeline. Every rank passes each segment to the rank that arrives next, so that no rank waits for a
/// later one.
/// Cost: (P - 2 + N)(L + 2o + s/N G), N = segments, if all have arrived. If one rank comes T after the others, the
/// larger of that and T + L + 2o + s G; begun early, the larger of that and T. Rank counts: any. Without predicted
/// arrivals the order is that of ranks. Source: ours, after Hoefler & Moor 2014, 3.1.4.
std::vector<schedule> bcast_sorted_chain(const problem& p, std::span<const rank> who) {
    std::vector<rank> line = by_arrival(p);
    line.insert(line.begin(), p.root);
    return build_each(who, [&](rank me) {
        const auto mine = std::ranges::find(line, me);
        tree t;
        if (mine != line.begin()) t.parent = *(mine - 1);
        if (mine + 1 != line.end()) t.children = {*(mine + 1)};
        builder b(p, me, p.segments);
        bcast_down(b, t);
        return std::move(b).finish();
    });
}

/// Sorted two-tree, for many ranks and segments. The two trees of bcast/two_tree, in which the first ranks to arrive
/// have the most ranks below them, and the last ones the fewest.
/// Cost: about (2 n + N)(alpha + s/N beta), n = ceil(log2 P), N segments, at least one per tree, if all have arrived: a
/// chain takes P + N - 2 such steps. Every rank passes data on in one of the trees, so a rank that arrives T after the
/// others delays half of the data of two of them, and of ranks that are served in turn with it. These get it as the
/// late rank does: the larger of the above and T + (N + c)(alpha + s/N beta), c = 9 to 13 in simulation; begun early,
/// the larger of that and T. Rank counts: any. Without predicted arrivals the order is that of ranks. Source: ours,
/// after Sanders, Speck, Traeff 2009.
std::vector<schedule> bcast_sorted_two_tree(const problem& p, std::span<const rank> who) {
    const std::vector<rank> line = by_arrival(p);
    const std::vector<rank> nodes = two_tree_nodes(p.ranks);
    std::vector<rank> rank_at(line.size() + 1, p.root);
    std::vector<rank> node_of(line.size() + 1);
    for (std::size_t i = 0; i < line.size(); ++i) {
        rank_at[static_cast<std::size_t>(nodes[i].value)] = line[i];
        node_of[static_cast<std::size_t>(line[i].value)] = nodes[i];
    }
    return build_each(who, [&](rank me) {
        auto edges = two_tree_edges(p.ranks, rank(0), node_of[static_cast<std::size_t>(me.value)]);
        for (two_tree_edge& edge : edges) edge.peer = rank_at[static_cast<std::size_t>(edge.peer.value)];
        return bcast_on_two_trees(p, me, edges);
    });
}

}  // namespace rubato::schedules
