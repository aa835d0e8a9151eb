// Trees over ranks, as one rank sees them, and the two ways to use one: data goes down it, or is combined up it.
//
// Every subtree covers an interval of consecutive ranks, and children are listed with the farther intervals first. So a
// combination that takes them in reverse always joins neighbouring intervals, and the order of operands is kept for
// any root, without renumbering ranks.
#pragma once

#include "rubato/builder.hpp"

#include <optional>
#include <vector>

namespace rubato::schedules {

/// The rank `by` places on, all ranks in a ring; -ranks <= by.
constexpr rank around(rank r, std::int64_t by, std::int32_t ranks) {
    return rank(static_cast<std::int32_t>((r.value + by + ranks) % ranks));
}

/// Consecutive ranks.
struct interval {
    std::int32_t low = 0;
    std::int32_t high = 0;  ///< one past the end

    std::int32_t size() const { return high - low; }
    bool has(std::int32_t r) const { return low <= r && r < high; }
};

struct tree {
    std::optional<rank> parent{};
    std::vector<rank> children{};  ///< in the order in which they are sent to
    // Of k-nomial and k-ary trees:
    interval covers{};                 ///< the ranks of the subtree
    std::vector<interval> branches{};  ///< the ranks of each child's subtree
};

/// Intervals are cut into pieces of a power of k, so the depth is at most ceil(log_k ranks), and 2 gives the binomial
/// tree. Below the root, a subtree's root is its lowest rank. Needs k >= 2, as pieces of one rank are cut no further.
tree knomial_tree(std::int32_t ranks, rank root, rank me, std::int32_t k);
/// The interval without its root is cut into k equal pieces; complete when the sizes allow.
tree kary_tree(std::int32_t ranks, rank root, rank me, std::int32_t k);
/// The k-ary tree of root 0 with all ranks shifted around the ring: as flat for any root, but its subtrees cover no
/// intervals, so it is for data that only moves.
tree rotated_kary_tree(std::int32_t ranks, rank root, rank me, std::int32_t k);
/// How many ranks each subtree of the root has in the tree by which a broadcast reaches all ranks soonest, if a rank
/// sends one message after the other, and one takes as long to be there as k sends take; in the order of sending. In t
/// sends' time F(t) = F(t-1) + F(t-k) ranks are reached: k = 1 is the binomial tree, k = 2 has Fibonacci's numbers.
std::vector<std::int32_t> fibonacci_branches(std::int32_t ranks, std::int32_t k);
/// That tree of root 0, shifted around the ring as rotated_kary_tree.
tree fibonacci_tree(std::int32_t ranks, rank root, rank me, std::int32_t k);
/// A binomial tree with Bine's distances (butterfly.hpp), counted from the root: partners are a third nearer. Its
/// subtrees cover no intervals. Beyond the largest power of two, the second of two neighbours is a leaf below the
/// first, so that there are ceil(log2 ranks) rounds for any count.
tree bine_tree(std::int32_t ranks, rank root, rank me);
/// The root and all others below it. The nearest ones are combined first, so the order of operands is kept.
tree flat_tree(std::int32_t ranks, rank root, rank me);
/// One line of ranks that ends in the root, as if the ranks were in a ring; does not keep the order of operands.
tree ring_chain(std::int32_t ranks, rank root, rank me);
/// Two lines, from the lowest and from the highest rank, that meet in the root; keeps the order of operands.
tree two_sided_chain(std::int32_t ranks, rank root, rank me);

/// Sends that leave one after the other, as those of a tree must: messages sent at once share the link, so that the
/// first child, which has most to pass on, gets its data as late as the last.
class sends_in_turn {
public:
    explicit sends_in_turn(builder& b) : b_(b) {}

    void send(rank to, slice data) {
        last_ = begun_ ? b_.send(to, data, {last_}) : b_.send(to, data);
        begun_ = true;
    }

private:
    builder& b_;
    builder::step_id last_ = 0;
    bool begun_ = false;
};

/// Appends a broadcast down the tree, one part after the other. The root's data is its input, unless said otherwise.
void bcast_down(builder& b, const tree& t, buffer root_data = buffer::input);
/// Appends a reduction up the tree, one part after the other. The root's result is its output.
void reduce_up(builder& b, const problem& p, rank me, const tree& t);
/// The same messages for ranks that may be late: received data is combined first, and the rank's own data last.
void reduce_up_own_last(builder& b, const problem& p, rank me, const tree& t);

/// Appends a barrier: signals that all have arrived go up the tree, and down again.
void barrier_on(builder& b, const tree& t);

}  // namespace rubato::schedules
