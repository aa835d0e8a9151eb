// Straggler's allreduce, for small vectors. All ranks but the last to arrive are summed along a tree in which later
// ranks are closer to the root, and the sum is sent to all, the last rank included. When the last rank arrives, its
// vector goes down its own binomial tree, and every rank adds it. If no rank is expected long after the others,
// recursive doubling is used.
//
// Cost: n (alpha + m beta) + m gamma after the last arrival, n = ceil(log2 P): the last rank's data cannot reach
// everybody in fewer messages. Before, 2 n (alpha + m beta) + n m gamma among the others.
// Rank counts: any. All ranks get the same bits: each adds the last one's vector to the same sum.
// Source: ours.
#include "algorithms/builders.hpp"
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/lined_up_tree.hpp"

namespace rubato {
namespace {

/// The last rank of the line contributes when it arrives; by then all ranks, itself included, have the others' sum.
schedule for_straggler(const problem& p, rank me, const std::vector<rank>& line) {
    builder b(p, me, 1);
    const rank last = line.back();
    const std::vector<rank> others(line.begin(), line.end() - 1);
    // The last rank's vector goes down its own tree.
    const tree down = lined_up_tree(last, me, others).shape();
    if (me == last) {
        const slice sum = b.scratch_chunks();
        b.recv(line.front(), sum);
        for (const rank child : down.children) b.send(child, b.input());
        b.copy(b.input(), b.output());
        b.combine(sum, b.output());
        return std::move(b).finish();
    }
    const tree up = lined_up_tree(line.front(), me, {others.rbegin(), others.rend() - 1}).shape();
    slice sum = b.input();
    const slice home = b.scratch_chunks();
    for (std::size_t i = up.children.size(); i-- > 0;) {
        const slice received = sum.where == buffer::input ? home : b.scratch_chunks();
        b.recv(up.children[i], received);
        b.combine(sum.where == buffer::input ? sum : received, home);
        sum = home;
    }
    if (up.parent) {
        b.send(*up.parent, sum);
        b.recv(*up.parent, home);
        sum = home;
    }
    for (const rank child : up.children) b.send(child, sum);
    if (me == line.front()) b.send(last, sum);
    b.recv(*down.parent, b.output());
    for (const rank child : down.children) b.send(child, b.output());
    b.combine(sum, b.output());
    return std::move(b).finish();
}

}  // namespace

std::vector<schedule> allreduce_straggler(const problem& p, std::span<const rank> who) {
    const std::vector<rank> line = line_up(p);
    const bool late = has_straggler(p, line);
    return build_each(who,
                      [&](rank me) { return late ? for_straggler(p, me, line) : allreduce_recursive_doubling(p, me); });
}

}  // namespace rubato
