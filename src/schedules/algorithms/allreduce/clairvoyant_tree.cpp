// Clairvoyant allreduce for many ranks. All vectors are reduced to the first rank to arrive, as in
// reduce/clairvoyant_plus. Each segment that is complete there goes out at once, down the two trees of bcast/two_tree
// among all ranks but the last; those take turns in sending to the last rank, which passes nothing on. So after the
// last arrival every link carries about one vector, as in allreduce/clairvoyant, with log2 P steps to all ranks instead
// of P.
//
// Let M be the time of a vector on a link, N segments. After the last arrival, if the others are done: M for its vector
// to go in, and two trees of ceil(log2 P) levels, in each of which a segment takes two steps at most, and one more:
// M (1 + (2 ceil(log2 P) + 2)/N), and the trees lose some time where ranks serve the last one: M/8 to M/2 in
// simulation. Unless the last rank arrives alone, late enough for this to pay, an algorithm for ranks that arrive
// together is used.
//
// Rank counts: any. All ranks get the same bits: every segment is combined once.
// Source: ours, after Marendic et al. 2016, 5.4, and Sanders, Speck, Traeff 2009.
#include "schedules/algorithms/builders.hpp"
#include "schedules/algorithms/pattern/arrival_order.hpp"
#include "schedules/algorithms/pattern/rank_ring.hpp"
#include "schedules/algorithms/pattern/tree.hpp"
#include "schedules/algorithms/pattern/two_tree.hpp"
#include "schedules/clairvoyant/clairvoyant.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace rubato::schedules {
namespace {

/// The round after which the root has each segment complete.
std::vector<std::int64_t> completions(const rounds& r, const problem& p) {
    std::vector<std::int64_t> round(p.segments, -1);
    for (std::size_t k = 0; k < r.busy.size(); ++k)
        for (const transfer& t : r.transfers_of(k))
            if (t.to == p.root.value) round[t.segment] = r.busy[k].number;
    return round;
}

/// The ways of complete segments, only as far as these ranks take part: those of all ranks would take much memory.
std::vector<relay> spread(const problem& p, const std::vector<rank>& line, const std::vector<std::int64_t>& complete,
                          std::span<const rank> who) {
    std::vector<std::uint32_t> order(p.segments);
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t s) { return complete[s]; });

    struct node {
        std::array<std::int32_t, 2> has{-1, -1};  // when it receives in each tree
        std::array<std::vector<two_tree_edge>, 2> down{};
    };
    std::vector<node> nodes(line.size() - 1);
    for (std::int32_t i = 0; i + 1 < p.ranks; ++i) {
        node& me = nodes[static_cast<std::size_t>(i)];
        for (const two_tree_edge& e : two_tree_edges(p.ranks - 1, rank(0), rank(i))) {
            const auto tree = static_cast<std::size_t>(e.tree);
            if (e.up)
                me.has[tree] = e.time;
            else
                me.down[tree].push_back(e);
        }
    }
    std::vector<bool> asked(line.size());
    for (const rank r : who) asked[static_cast<std::size_t>(r.value)] = true;
    const auto takes_part = [&](rank r) { return asked[static_cast<std::size_t>(r.value)]; };
    std::vector<relay> some;
    const auto add = [&](std::int64_t round, std::size_t from, std::size_t to, std::uint32_t segment) {
        if (takes_part(line[from]) || takes_part(line[to])) some.push_back({round, line[from], line[to], segment});
    };
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const std::size_t tree = i % 2;
        begin = std::max(begin, complete[order[i]] + 1 - static_cast<std::int64_t>(i));
        const std::int64_t start = begin + static_cast<std::int64_t>(i - tree);
        for (std::size_t at = 0; at < nodes.size(); ++at)
            for (const two_tree_edge& e : nodes[at].down[tree])
                add(start + e.time, at, static_cast<std::size_t>(e.peer.value), order[i]);
        const std::size_t at = i % nodes.size();
        add(start + nodes[at].has[tree] + 1, at, line.size() - 1, order[i]);
    }
    std::ranges::stable_sort(some, {}, &relay::round);
    return some;
}

/// Whether a quarter of the others' work is done when the last rank arrives: with less, two vectors' time is left then,
/// as in the ring.
bool pays(const problem& p, const std::vector<double>& arrivals) {
    if (p.ranks < 3) return false;
    const double gap = arrivals.back() - arrivals[arrivals.size() - 2];
    return gap > 0 && gap >= static_cast<double>(p.segments) / 4 * static_cast<double>(p.round_time.count());
}

}  // namespace

std::vector<schedule> allreduce_clairvoyant_tree(const problem& p, std::span<const rank> who) {
    const std::vector<rank> line = line_up(p);
    if (!pays(p, since_first(p, line))) {
        std::vector<schedule> together;
        for (const rank me : who) together.push_back(allreduce_together(p, me));
        return together;
    }
    problem to_first = p;
    to_first.root = line.front();
    const rounds r = generate_latest_first(instance_of(to_first));
    return schedules_of(to_first, r, who, spread(p, line, completions(r, to_first), who));
}

}  // namespace rubato::schedules
