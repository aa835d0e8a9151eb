#include "algorithms/pattern/tree.hpp"

#include "algorithms/pattern/bine.hpp"
#include "algorithms/pattern/butterfly.hpp"
#include "algorithms/pattern/partial.hpp"

#include <algorithm>

namespace rubato {
namespace {

/// n nearly equal pieces, empty ones left out.
std::vector<interval> cut_evenly(interval whole, std::int32_t n) {
    n = std::min(n, whole.size());
    std::vector<interval> pieces;
    for (std::int32_t i = 0; i < n; ++i) {
        const auto at = [&](std::int32_t k) {
            return whole.low + static_cast<std::int32_t>(std::int64_t{whole.size()} * k / n);
        };
        if (at(i) < at(i + 1)) pieces.push_back({at(i), at(i + 1)});
    }
    return pieces;
}

struct branch {
    interval ranks;
    std::int32_t root;
};

/// Farther branches first.
void sort_far_first(std::vector<branch>& branches, std::int32_t root) {
    if (branches.size() > 1)
        std::ranges::stable_sort(branches, std::greater{}, [root](const branch& b) { return std::abs(b.root - root); });
}

/// Follows `me` down from the whole; `split` lists what hangs below a root in an interval, far first, and narrows the
/// interval to what the root still has to split (nothing: only itself).
template <class Split>
tree follow(std::int32_t ranks, rank root, rank me, Split split) {
    tree t;
    branch here{{0, ranks}, root.value};
    if (me == root) t.covers = here.ranks;
    std::vector<branch> below;
    while (here.ranks.size() > 1) {
        interval rest = here.ranks;
        below.clear();
        split(rest, here.root, below);
        const auto mine = std::ranges::find_if(below, [me](const branch& b) { return b.ranks.has(me.value); });
        if (mine != below.end()) {
            if (mine->root == me.value) {
                t.parent = rank(here.root);
                t.covers = mine->ranks;
            }
            here = *mine;
            continue;
        }
        if (here.root == me.value) {
            for (const branch& b : below) {
                t.children.emplace_back(b.root);
                t.branches.push_back(b.ranks);
            }
        }
        here.ranks = rest;
    }
    return t;
}

/// A tree of root 0, shifted around the ring.
tree rotated(const tree& from_zero, std::int32_t ranks, rank root) {
    tree t;
    if (from_zero.parent) t.parent = around(*from_zero.parent, root.value, ranks);
    for (const rank child : from_zero.children) t.children.push_back(around(child, root.value, ranks));
    return t;
}

}  // namespace

tree knomial_tree(std::int32_t ranks, rank root, rank me, std::int32_t k) {
    return follow(ranks, root, me, [k](interval& here, std::int32_t r, std::vector<branch>& below) {
        std::int64_t size = 1;
        while (size * k < here.size()) size *= k;
        interval mine{};
        // The short piece, if there is one, comes last, or first if the root would be in it.
        const auto length = static_cast<std::int32_t>(size);
        const std::int32_t rest = here.size() % length;
        const bool short_first = r >= here.high - rest;
        for (interval piece{here.low, here.low + (short_first ? rest : length)}; piece.low < here.high;
             piece = {piece.high, piece.high + length}) {
            piece.high = std::min(piece.high, here.high);
            if (piece.has(r))
                mine = piece;
            else
                below.push_back({piece, piece.low});
        }
        here = mine;
        sort_far_first(below, r);
    });
}

tree kary_tree(std::int32_t ranks, rank root, rank me, std::int32_t k) {
    return follow(ranks, root, me, [k](interval& here, std::int32_t r, std::vector<branch>& below) {
        const interval left{here.low, r};
        const interval right{r + 1, here.high};
        std::int32_t on_left = left.size() == 0 ? 0 : k;
        if (left.size() > 0 && right.size() > 0) {
            const std::int64_t both = here.size() - 1;
            on_left = static_cast<std::int32_t>((2 * std::int64_t{k} * left.size() + both) / (2 * both));
            on_left = std::clamp(on_left, 1, k - 1);
        }
        for (const interval piece : cut_evenly(left, on_left)) below.push_back({piece, piece.high - 1});
        for (const interval piece : cut_evenly(right, k - on_left)) below.push_back({piece, piece.low});
        here = {r, r + 1};
        sort_far_first(below, r);
    });
}

tree rotated_kary_tree(std::int32_t ranks, rank root, rank me, std::int32_t k) {
    return rotated(kary_tree(ranks, rank(0), around(me, -root.value, ranks), k), ranks, root);
}

std::vector<std::int32_t> fibonacci_branches(std::int32_t ranks, std::int32_t k) {
    if (ranks < 2) return {};
    const auto delay = static_cast<std::size_t>(std::min(k, ranks));  // a longer one makes no other tree
    std::vector<std::int32_t> reached;                                // after 0, 1, ... sends' time
    while (reached.empty() || reached.back() < ranks) {
        const std::size_t t = reached.size();
        const std::int64_t all = t < delay ? 1 : std::int64_t{reached[t - 1]} + reached[t - delay];
        reached.push_back(static_cast<std::int32_t>(std::min<std::int64_t>(all, ranks)));
    }
    // Those that are reached at the very end are leaves. There may be too many of them, and it is all the same which
    // subtrees have them.
    const std::size_t first = reached.size() - 1 - delay;  // what is left when the first child has the data
    std::int32_t at_the_end = ranks - reached[reached.size() - 2];
    std::vector<std::int32_t> sizes;
    for (std::size_t left = first + 1; left-- > 0;) {
        const std::int32_t before = left > 0 ? reached[left - 1] : 0;
        const std::int32_t more = std::min(at_the_end, reached[left] - before);
        at_the_end -= more;
        if (before + more > 0) sizes.push_back(before + more);
    }
    return sizes;
}

tree fibonacci_tree(std::int32_t ranks, rank root, rank me, std::int32_t k) {
    const auto split = [k](interval& here, std::int32_t r, std::vector<branch>& below) {
        std::int32_t end = here.high;
        for (const std::int32_t size : fibonacci_branches(here.size(), k)) {
            below.push_back({{end - size, end}, end - size});
            end -= size;
        }
        here = {r, r + 1};
    };
    const tree from_zero = follow(ranks, rank(0), around(me, -root.value, ranks), split);
    return rotated(from_zero, ranks, root);
}

tree bine_tree(std::int32_t ranks, rank root, rank me) {
    const folding fold(ranks);
    const rank here = around(me, -root.value, ranks);
    tree t;
    if (fold.gives(here)) {
        t.parent = fold.mate(here);
        return rotated(t, ranks, root);
    }
    const int rounds = ceil_log2(fold.size);
    const std::uint32_t number = fold.number(here);
    const auto partner = [&](int round) { return fold.keeper(bine_partner(number, round, fold.size)); };
    const int entry = bine_entry(number, rounds);
    if (entry < rounds) t.parent = partner(entry);
    for (int round = entry; round-- > 0;) t.children.push_back(partner(round));
    if (fold.mate(here)) t.children.push_back(*fold.mate(here));
    return rotated(t, ranks, root);
}

tree ring_chain(std::int32_t ranks, rank root, rank me) {
    tree t;
    const rank next = around(me, 1, ranks);
    if (me != root) t.parent = around(me, -1, ranks);
    if (next != root) t.children.push_back(next);
    return t;
}

tree two_sided_chain(std::int32_t ranks, rank root, rank me) {
    tree t;
    if (me < root) t.parent = rank(me.value + 1);
    if (me > root) t.parent = rank(me.value - 1);
    if (me >= root && me.value + 1 < ranks) t.children.emplace_back(me.value + 1);
    if (me <= root && me.value > 0) t.children.emplace_back(me.value - 1);
    return t;
}

void bcast_down(builder& b, const tree& t, buffer root_data) {
    for (std::uint32_t s = 0; s < b.parts(); ++s) {
        const slice part = (t.parent || root_data == buffer::output ? b.output() : b.input()).sub(s);
        if (t.parent) b.recv(*t.parent, part);
        sends_in_turn in_turn(b);
        for (const rank child : t.children) {
            if (b.parts() == 1)
                in_turn.send(child, part);
            else
                b.send(child, part);  // of segments, the next ones are on their way anyway
        }
    }
}

void reduce_up(builder& b, const problem& p, rank me, const tree& t) {
    slot_ring slots(b, t.children.size());
    const auto on_right = [&](rank child) { return p.commutative || child > me; };
    for (std::uint32_t s = 0; s < b.parts(); ++s) {
        slice sum = b.input().sub(s);
        // A right operand moves the sum to where it was received. The root's last move is into its output.
        auto moves = std::ranges::count_if(t.children, on_right);
        const auto next_place = [&] { return !t.parent && moves == 0 ? b.output().sub(s) : slots.take(s, sum); };
        for (auto from = t.children.rbegin(); from != t.children.rend(); ++from) {
            const rank child = *from;
            if (on_right(child)) {
                --moves;
                const slice received = next_place();
                b.recv(child, received);
                b.combine(sum, received);
                sum = received;
            } else {
                if (sum.where == buffer::input) {
                    const slice own = next_place();
                    b.copy(sum, own);
                    sum = own;
                }
                const slice received = slots.take(s, sum);
                b.recv(child, received);
                b.combine(received, sum);
            }
        }
        if (t.parent)
            b.send(*t.parent, sum);
        else
            b.copy(sum, b.output().sub(s));
    }
}

void barrier_on(builder& b, const tree& t) {
    for (std::size_t i = t.children.size(); i-- > 0;) b.recv(t.children[i], builder::nothing());
    b.fence();
    if (t.parent) {
        b.send(*t.parent, builder::presence());
        b.recv(*t.parent, builder::nothing());
        b.fence();
    }
    for (const rank child : t.children) b.send(child, builder::presence());
}

}  // namespace rubato
