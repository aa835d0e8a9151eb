#include "schedules/algorithms/pattern/tree.hpp"

#include "schedules/algorithms/pattern/butterfly.hpp"
#include "schedules/algorithms/pattern/partial.hpp"

#include <algorithm>
#include <utility>

namespace rubato::schedules {
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

class waiting_sum {
public:
    waiting_sum(builder& b, const problem& p, rank me, const tree& t)
        : b_(b), t_(t), commutative_(p.commutative), me_(me), slots_(b, t.children.size()) {}

    /// What the children have sent of this part.
    struct operands {
        std::optional<slice> left{};  // if the operator commutes, all of them
        std::optional<slice> right{};
    };

    operands take_in(std::uint32_t s) {
        operands have;
        const auto on_right = [this](rank child) { return !commutative_ && child > me_; };
        auto moves = std::ranges::count_if(t_.children, on_right);
        for (auto from = t_.children.rbegin(); from != t_.children.rend(); ++from) {
            const slice keep = have.right.value_or(slice{buffer::input});
            // A left operand is combined into the first one, a right one takes over what came before.
            const bool on_the_right = on_right(*from);
            const bool stays = on_the_right ? --moves == 0 : !have.left;
            const slice received = stays ? place(s, on_the_right || commutative_) : slots_.take(s, keep);
            b_.recv(*from, received);
            if (on_the_right) {
                if (have.right) b_.combine(*have.right, received);
                have.right = received;
            } else if (have.left) {
                b_.combine(received, *have.left);
            } else {
                have.left = received;
            }
        }
        return have;
    }

    void add_own(std::uint32_t s, operands have) {
        slice sum = b_.input().sub(s);
        if (commutative_) std::swap(have.left, have.right);
        if (have.right) {
            b_.combine(sum, *have.right);
            sum = *have.right;
        }
        if (have.left) {
            if (!have.right) {
                const slice own = place(s, true);
                b_.copy(sum, own);
                sum = own;
            }
            b_.combine(*have.left, sum);
        }
        if (t_.parent)
            b_.send(*t_.parent, sum);
        else
            b_.copy(sum, b_.output().sub(s));
    }

private:
    slice place(std::uint32_t s, bool of_result) {
        return of_result && !t_.parent ? b_.output().sub(s) : b_.scratch(s, 1);
    }

    builder& b_;
    const tree& t_;
    bool commutative_;
    rank me_;
    slot_ring slots_;
};

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

tree flat_tree(std::int32_t ranks, rank root, rank me) {
    tree t;
    if (me != root) {
        t.parent = root;
    } else {
        for (std::int32_t distance = ranks - 1; distance > 0; --distance)
            for (const std::int32_t r : {me.value - distance, me.value + distance})
                if (r >= 0 && r < ranks) t.children.emplace_back(r);
    }
    return t;
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

/// A reduction up a tree whose ranks may be late. What comes from below is combined without the rank's own data, which
/// is added last: so when the rank arrives, one combination is left to do.
///
/// The operands keep their order: those from lower ranks are combined with each other, those from higher ranks
/// likewise, and the rank's own goes in between. A result that waits for its rank has its own place.
void reduce_up_own_last(builder& b, const problem& p, rank me, const tree& t) {
    waiting_sum sum(b, p, me, t);
    std::vector<waiting_sum::operands> later;
    for (std::uint32_t s = 0; s < b.parts(); ++s) {
        const waiting_sum::operands have = sum.take_in(s);
        // Only the root can keep all its own data to the end: other ranks pass on each part before they take the next.
        if (t.parent)
            sum.add_own(s, have);
        else
            later.push_back(have);
    }
    for (std::uint32_t s = 0; s < later.size(); ++s) sum.add_own(s, later[s]);
}

}  // namespace rubato::schedules
