// Sorted tree barrier. All ranks but the last to arrive signal up a tree in which later ranks are closer to the root,
// down again, and to the last rank. When the last rank arrives, it signals all others down its own binomial tree. A
// rank leaves when it has both signals. If no rank is expected long after the others, dissemination is used.
//
// Cost: n (L + 2o) after the last arrival, n = ceil(log2 P), which is the bound: in each step twice as many can know of
// it. A barrier that goes up and down needs 2n.
// Rank counts: any.
// Source: ours.
#include "algorithms/builders.hpp"
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/lined_up_tree.hpp"

namespace rubato {
namespace {

schedule for_straggler(const problem& p, rank me, const std::vector<rank>& line) {
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

std::vector<schedule> barrier_sorted_tree(const problem& p, std::span<const rank> who) {
    const std::vector<rank> line = line_up(p);
    const bool late = has_straggler(p, line);
    return build_each(who, [&](rank me) { return late ? for_straggler(p, me, line) : barrier_dissemination(p, me); });
}

}  // namespace rubato
