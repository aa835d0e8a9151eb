// The functions of the rows of the table that are one expression: a pattern with a tree, or another row's function.
//
// Costs: n = ceil(log2 P), N = segments, k = radix, s or m = the vector or one chunk. Those with a closed form are in
// src/simulator/formulas; docs/algorithms.md has an example of all.
#include "rubato/algorithm.hpp"
#include "schedules/algorithms/builders.hpp"
#include "schedules/algorithms/pattern/arrival_order.hpp"
#include "schedules/algorithms/pattern/butterfly.hpp"
#include "schedules/algorithms/pattern/host_view.hpp"
#include "schedules/algorithms/pattern/in_order.hpp"
#include "schedules/algorithms/pattern/neighbours.hpp"
#include "schedules/algorithms/pattern/rank_ring.hpp"
#include "schedules/algorithms/pattern/two_tree.hpp"
#include "schedules/clairvoyant/clairvoyant.hpp"

#include <algorithm>

namespace rubato::schedules {
namespace {

/// In the round of distance w, every rank tells the rank w places on that it and the w - 1 before it have arrived. With
/// several ways, messages go out together where the network can have them under way at the same time.
/// Cost: n (L + 2o + (w - 1) g), n = ceil(log_{w+1} P), w = ways.
schedule disseminated(const problem& p, rank me, std::int32_t ways) {
    builder b(p, me, 1);
    disseminate(b, me, p.ranks, ways);
    return std::move(b).finish();
}

/// Rank 0 and all others below it, the farthest first.
tree flat_from_zero(const problem& p, rank me) { return knomial_tree(p.ranks, rank(0), me, std::max(2, p.ranks)); }

/// A barrier up and down a tree. Only 2 (P - 1) messages in all, so where processors are the limit it is the quickest.
/// Cost: flat 2 (L + 2o) + 2 (P - 2) g, binomial 2n (L + 2o).
schedule up_and_down_again(const problem& p, rank me, const tree& t) {
    builder b(p, me, 1);
    barrier_on(b, t);
    return std::move(b).finish();
}

/// A broadcast. The tree decides: binomial, all who have the data pass it on; k-nomial, fewer rounds, with more
/// messages in each, for ranks that can have several under way; Fibonacci's, the soonest if a message takes as long as
/// k sends; Bine's, near ranks first; k-ary or a chain in segments, so that the time for one grows little or not with
/// P. Cost: binomial and Bine n (L + 2o + s G); k-nomial ceil(log_k P) (L + o + (k - 1)(o + s G)); chain (P - 2 + N)(L
/// + 2o + s/N G); k-ary about k (o + s/N G) N + (L + o + k (o + s/N G)) (log_k P - 1).
schedule down(const problem& p, rank me, std::uint32_t parts, const tree& t) {
    builder b(p, me, parts);
    bcast_down(b, t);
    return std::move(b).finish();
}

/// A reduction on the same trees. It keeps the order of operands on trees whose subtrees are intervals of ranks.
/// Cost: flat (P - 1)(alpha + m beta + m gamma); binomial and Bine n times that in brackets, optimal for data that
/// cannot be cut; chain (P - 2 + N)(alpha + m/N (beta + gamma)); k-ary about k (depth - 1 + N) times the same.
schedule up(const problem& p, rank me, std::uint32_t parts, const tree& t) {
    builder b(p, me, parts);
    reduce_up(b, p, me, t);
    return std::move(b).finish();
}
schedule up_own_last(const problem& p, rank me, std::uint32_t parts, const tree& t) {
    builder b(p, me, parts);
    reduce_up_own_last(b, p, me, t);
    return std::move(b).finish();
}

/// Segments pass along one line of ranks; if the operator does not commute, along two that meet in the root, which then
/// receives twice as much.
tree reduction_chain(const problem& p, rank me) {
    return p.commutative ? ring_chain(p.ranks, p.root, me) : two_sided_chain(p.ranks, p.root, me);
}

/// An allreduce: a reduction to rank 0, then a broadcast, on one tree. Few messages in all, so it is quick for small
/// vectors where processors are the limit.
/// Cost: flat (P - 1)(2 alpha + 2 m beta + m gamma), binomial n times that in brackets; k-ary about h (2 L + 2 (k + 1)
/// o
/// + (k + 1) s/N G) + (N - 1)(2 (k + 1) o + (k + 1) s/N G), h = its depth.
schedule up_then_down(const problem& p, rank me, std::uint32_t parts, const tree& t) {
    builder b(p, me, parts);
    reduce_up(b, p, me, t);
    bcast_down(b, t, buffer::output);
    return std::move(b).finish();
}

/// An allreduce in which in round r every rank p sends what it has to p + i (w+1)^r, i = 1..w, w = ways, and gets as
/// much from p - i (w+1)^r, around the end. It pays where a rank can send several small messages at once.
///
/// Cost: ceil(log_{w+1} P) ((w+1) o + L + w (m-1) G + w m gamma).
/// Rank counts: powers of w + 1; any if the operator is idempotent, as the last round then counts some ranks twice.
/// Peers P or more away would bring nothing new and are left out. The operands of rank r begin after r, so the operator
/// must commute, and each rank combines in an order of its own: floating-point results of ranks may differ in the last
/// bits, which breaks programs that branch on them.
/// Source: Hoefler 2008, II.13, II.14 and III.6.
schedule disseminating_allreduce(const problem& p, rank me, std::int32_t ways) {
    builder b(p, me, 1);
    const std::int64_t base = std::int64_t{ways} + 1;
    int rounds = 0;
    for (std::int64_t reach = 1; reach < p.ranks; reach *= base) ++rounds;
    const slice away = rounds > 1 ? b.scratch_chunks() : slice{};
    std::vector<slice> others;  // operands beyond the first of a round

    slice value = b.input();
    for (std::int64_t reach = 1; reach < p.ranks; reach *= base) {
        const slice sum = --rounds % 2 == 0 ? b.output() : away;
        std::size_t more = 0;
        for (std::int64_t distance = reach; distance < std::min<std::int64_t>(reach * base, p.ranks);
             distance += reach) {
            b.send(around(me, distance, p.ranks), value);
            if (distance > reach && more++ == others.size()) others.push_back(b.scratch_chunks());
            b.recv(around(me, -distance, p.ranks), distance == reach ? sum : others[more - 1]);
        }
        b.combine(value, sum);
        for (std::size_t i = 0; i < more; ++i) b.combine(others[i], sum);
        value = sum;
    }
    b.copy(value, b.output());
    return std::move(b).finish();
}

/// A scatter or a gather along a tree whose subtrees are intervals of ranks, so that their chunks are consecutive for
/// any root. Inner ranks hold their subtree's chunks in scratch.
/// Cost: binomial n alpha + (P - 1) m beta; k-nomial ceil(log_k P) (L + k o) + (P - 1) m G; k-ary in segments about
/// h (L + o + k o) + N k o + (P - 1) m G, h = its depth. In a gather the last term is (P - 1)/(k - 1) m G, or for a
/// k-ary tree (P - 1)/k m G, if a rank receives from several at once.
schedule along(const problem& p, rank me, std::uint32_t parts, void (*append)(builder&, const tree&, rank),
               const tree& t) {
    builder b(p, me, parts);
    append(b, t, me);
    return std::move(b).finish();
}

using appended_in_order = void(builder&, const problem&, rank, std::span<const rank>);

/// The root sends or asks for one chunk after the other. Nothing is sent twice.
/// Cost: scatter (P - 1)(alpha + m beta), gather alpha + (P - 1)(2 alpha + m beta).
schedule in_order(const problem& p, rank me, std::uint32_t parts, appended_in_order& append,
                  std::span<const rank> line) {
    builder b(p, me, parts);
    append(b, p, me, line);
    return std::move(b).finish();
}

/// A binomial tree in this order: the last ranks are leaves.
void bcast_in_order(builder& b, const problem& p, rank me, std::span<const rank> line) {
    bcast_down(b, lined_up_tree(p.root, me, {line.begin(), line.end()}).shape());
}

/// The same in the order of arrival, so that no rank waits for a later one; without predicted arrivals in that of
/// ranks. Cost: if one rank comes T after the others, the larger of that above and T + one message, or begun early T. A
/// gather needs 2 alpha more after T, as the root asks, or begun early 2 alpha + m beta in all.
std::vector<schedule> by_arrival_all(const problem& p, std::span<const rank> who, std::uint32_t parts,
                                     appended_in_order& append) {
    return build_each(who, [&, line = by_arrival(p)](rank me) { return in_order(p, me, parts, append, line); });
}

/// Those who have arrived combine with each other before the others arrive. In each round every rank receives one
/// segment and sends one, the lowest it can, until the root has all. Ranks wait for what they need, not for rounds.
/// Cost: R rounds of alpha + m/N (beta + gamma), R = n + N - 1 if all arrive together and P is a power of two;
/// sometimes a round more if it is none. clairvoyant_plus has as many or fewer: it serves the last ranks to arrive
/// first, and its root never sends, so those with least time always have a partner.
rounds clairvoyant_rounds(const problem& p, std::span<const rank> who) {
    const instance in = instance_of(p);
    return who.size() == 1 ? generate(in, who.front()) : generate(in);
}

}  // namespace

#define ROW(c, n, needs, uses, summary, source)
#define ROW_BY(c, n, needs, uses, summary, source, ...) \
    schedule c##_##n(const problem& p, rank me) { return __VA_ARGS__; }
#define ROW_TOGETHER(c, n, needs, uses, summary, source)
#define TOGETHER_BY(c, n, needs, uses, summary, source, ...) \
    std::vector<schedule> c##_##n(const problem& p, std::span<const rank> who) { return __VA_ARGS__; }
#define ROW_DYNAMIC(c, n, needs, uses, summary, source)
#define EARLY(c, n, f, source)
#define EARLY_BY(c, n, f, source, ...) \
    schedule f(const problem& p, rank me) { return __VA_ARGS__; }
#define EARLY_TOGETHER(c, n, f, source)
#define EARLY_TOGETHER_BY(c, n, f, source, ...) \
    std::vector<schedule> f(const problem& p, std::span<const rank> who) { return __VA_ARGS__; }
#include "schedules/algorithms/table.def"

}  // namespace rubato::schedules
