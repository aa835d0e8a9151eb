// Split binary tree. One half of the data goes down the left subtree of the root, the other half down the right one;
// then each rank of the left exchanges halves with one of the right. A rank passes on half as much as in a binary tree.
//
// Cost: about (L + o + 2(o + s/2 G)) floor(log2 P) + L + 2o + s/2 G; the first term is pipelined with N = segments per
// half.
// Rank counts: any. Ranks are counted from the root, so that the subtrees are equal or the right one has one rank more;
// that one gets the left half from the root.
// Source: Pjesivac-Grbovic et al. 2007; Hoefler & Moor 2014, 3.1.2.
#include "algorithms/pattern/tree.hpp"

namespace rubato {

schedule bcast_split_binary(const problem& p, rank me) {
    builder b(p, me, 2 * p.segments);
    const bool root = me == p.root;
    const slice data = root ? b.input() : b.output();
    const slice halves[2] = {data.sub(0, p.segments), data.sub(p.segments, p.segments)};
    const std::int32_t left = (p.ranks - 1) / 2;  // ranks root + 1 to root + left; then come those on the right
    const auto from_root = [&p](rank r) { return around(r, -p.root.value, p.ranks).value; };
    const auto is_right = [&](rank r) { return from_root(r) > left; };

    const tree t = rotated_kary_tree(p.ranks, p.root, me, 2);
    for (std::uint32_t s = 0; s < p.segments; ++s) {
        if (t.parent) b.recv(*t.parent, halves[is_right(me)].sub(s));
        for (const rank child : t.children) b.send(child, halves[is_right(child)].sub(s));
    }

    const rank last = around(p.root, -1, p.ranks);
    const bool unpaired = from_root(last) > 2 * left;
    if (root) {
        if (unpaired) b.send(last, halves[0]);
    } else if (unpaired && me == last) {
        b.recv(p.root, halves[0]);
    } else {
        const rank partner = around(me, is_right(me) ? -left : left, p.ranks);
        b.send(partner, halves[is_right(me)]);
        b.recv(partner, halves[is_right(partner)]);
    }
    return std::move(b).finish();
}

}  // namespace rubato
