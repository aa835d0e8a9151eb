// Sorted tree barrier. That all but the last rank are there goes up a tree in which those who come last are next to its
// root, down again, and to the last one. When that comes, it tells everybody down a binomial tree of its own. Who knows
// of both leaves. If nobody is expected long after the others, dissemination.
//
// Cost: n (L + 2o) after the last arrival, n = ceil(log2 P), which is the bound: in each step twice as many can know of
// it. A barrier that goes up and down needs 2n.
// Rank counts: any.
// Source: ours.
#include "../arrival_order.hpp"
#include "../builders.hpp"

namespace rubato {

schedule barrier_sorted_tree(const problem& p, rank me) {
    const std::vector<rank> line = line_up(p);
    if (!has_straggler(p, line)) return barrier_dissemination(p, me);
    builder b(p, me, 1);
    const rank last = line.back();
    problem rest = p;
    if (me == last) {
        b.recv(line.front(), builder::nothing());
    } else {
        rest.root = line.front();
        tree up = lined_up_tree(rest, me, {line.begin() + 1, line.end() - 1}).shape();
        if (me == line.front()) up.children.push_back(last);
        for (std::size_t i = up.children.size(); i-- > 0;)
            if (up.children[i] != last) b.recv(up.children[i], builder::nothing());
        b.fence();
        if (up.parent) {
            b.send(*up.parent, builder::presence());
            b.recv(*up.parent, builder::nothing());
            b.fence();
        }
        for (const rank child : up.children) b.send(child, builder::presence());
    }
    // The last one waits for nobody.
    rest.root = last;
    const tree down = lined_up_tree(rest, me, {line.begin(), line.end() - 1}).shape();
    if (me == last) {
        for (const rank child : down.children) b.send(child, builder::presence());
    } else {
        const auto heard = b.recv(*down.parent, builder::nothing());
        for (const rank child : down.children) b.send(child, builder::presence(), {heard});
    }
    return std::move(b).finish();
}

}  // namespace rubato
