// Held segments are bits, a column per process. The columns of possible senders are the leaves of a segment tree whose
// inner nodes hold the union of both children. The segments that others can send are the union of the siblings on the
// way from a process to the top; the first process with a given segment is found by going down, left where the left
// child has it.
//
// Leaves are in the order of arrivals modulo d, twice: members are ordered like that from the head of the ready group
// on, and around. Each has its leaf on the first lap or, if there is a multiple of d between the head's key and its
// own, on the second; so one that is available exactly d after the head comes last, though equal modulo d. The root
// comes first in the group wherever its leaf would be, so it is kept apart.
//
// Cost: O(R P N / w log P) with vectors of w bits. Source: Proficz & Ocetkiewicz 2020, Listings 3 to 8, repaired.
#include "generators/baselines.hpp"
#include "generators/ready_group.hpp"
#include "generators/sender_tree.hpp"

namespace rubato::schedules {
namespace {

using namespace segment_tree;

std::size_t at(std::int32_t r) { return static_cast<std::size_t>(r); }

class generator {
public:
    explicit generator(const instance& in)
        : d_(in.round_time.count()),
          root_(in.root.value),
          by_remainder_(at(in.ranks)),
          remainder_(at(in.ranks)),
          place_(at(in.ranks)),
          held_(at(in.ranks), in.segments),
          holds_(at(in.ranks), in.segments),
          tree_(2 * at(in.ranks), in.segments),
          node_(at(in.ranks)),
          changed_(at(in.ranks), 1),
          group_(in) {
        for (std::size_t r = 0; r < in.arrivals.size(); ++r) remainder_[r] = (in.arrivals[r].count() % d_ + d_) % d_;
        std::iota(by_remainder_.begin(), by_remainder_.end(), 0);
        std::ranges::stable_sort(by_remainder_, {}, [&](std::int32_t r) { return remainder_[at(r)]; });
        for (std::size_t i = 0; i < by_remainder_.size(); ++i) place_[at(by_remainder_[i])] = i;
        for (std::size_t r = 0; r < holds_.size(); ++r)
            for (std::uint32_t j = 0; j < in.segments; ++j) held_[r][j / 64] |= segment_tree::bit_of(j);
        node_[at(root_)] = segment_tree::sender_tree::top;
    }

    rounds run() {
        while (group_.next([&](std::int32_t r) { return holds_[at(r)] == 0; })) {
            place_members();
            const std::size_t begin = result_.transfers.size();
            const bool with_root = root_sends_;
            if (with_root) receive(root_, true);
            for (const std::int32_t r : group_.members())
                if (r != root_) receive(r, !with_root && r == group_.members().front());
            for (std::size_t k = begin; k < result_.transfers.size(); ++k) {
                const transfer& x = result_.transfers[k];
                held_[at(x.to)][x.segment / 64] |= segment_tree::bit_of(x.segment);
            }
            if (result_.transfers.size() > begin) result_.busy.push_back({group_.round(), result_.transfers.size()});
            group_.end_round();
            result_.length = group_.round();
        }
        return std::move(result_);
    }

private:
    /// All members can send again. Only leaves that differ from before are written, and the nodes above them.
    void place_members() {
        const std::int32_t head = group_.members().front();
        const std::int64_t second_lap = group_.key(head) - remainder_[at(head)] + d_;
        root_sends_ = false;
        written_.clear();
        left_.clear();
        for (const std::int32_t r : group_.members()) {
            if (r == root_) {
                root_sends_ = true;
                continue;
            }
            std::size_t& node = node_[at(r)];
            const std::size_t now = tree_.leaf(place_[at(r)] + (group_.key(r) < second_lap ? 0 : place_.size()));
            if (now == node && changed_[at(r)] == 0) continue;
            if (now != node && node != 0) {
                tree_.clear(node);
                left_.push_back(node);
            }
            tree_.write(now, held_[at(r)]);
            written_.push_back(now);
            node = now;
            changed_[at(r)] = 0;
        }
        // Keys of heads only grow, so members move from the second lap to the first, and all at once: both are in
        // order.
        if (!left_.empty()) {
            const auto middle = written_.insert(written_.end(), left_.begin(), left_.end());
            std::inplace_merge(written_.begin(), middle, written_.end());
        }
        tree_.rebuild_above(written_);
    }

    /// Listing 7, and what follows from it in Listing 8.
    void receive(std::int32_t to, bool sink) {
        const segment_tree::word* from_root = root_sends_ && to != root_ ? held_[at(root_)] : nullptr;
        const std::int64_t found = tree_.first_segment(node_[at(to)], from_root, sink ? nullptr : held_[at(to)]);
        if (found < 0) return;
        const auto segment = static_cast<std::uint32_t>(found);
        std::int32_t from = root_;
        if (from_root != nullptr && segment_tree::has(from_root, segment)) {
            root_sends_ = false;
        } else {
            const std::size_t leaf = tree_.first_leaf(segment, node_[at(to)]);
            from = by_remainder_[tree_.place(leaf) % place_.size()];
            tree_.clear_and_climb(leaf);
        }
        if (to != root_) tree_.clear_bit_and_climb(node_[at(to)], segment);
        if (!segment_tree::has(held_[at(to)], segment)) ++holds_[at(to)];
        --holds_[at(from)];
        // State P': until the round is over, the receiver does not hold it.
        held_[at(from)][segment / 64] &= ~segment_tree::bit_of(segment);
        held_[at(to)][segment / 64] &= ~segment_tree::bit_of(segment);
        changed_[at(from)] = changed_[at(to)] = 1;
        result_.transfers.push_back({to, from, segment});
    }

    std::int64_t d_;
    std::int32_t root_;
    std::vector<std::int32_t> by_remainder_;  // of arrivals modulo d, then by rank
    std::vector<std::int64_t> remainder_;
    std::vector<std::size_t> place_;  // in by_remainder_
    segment_tree::columns held_;
    std::vector<std::uint32_t> holds_;  // how many
    segment_tree::sender_tree tree_;
    std::vector<std::size_t> node_;      // its leaf in the tree, 0 before it joins
    std::vector<std::uint8_t> changed_;  // its leaf is not what it holds
    std::vector<std::size_t> written_{};
    std::vector<std::size_t> left_{};
    bool root_sends_ = false;  // is a member and has not sent in this round
    ready_group group_;
    rounds result_{};
};

}  // namespace

rounds generate_segment_tree(const instance& in) {
    check(in);
    return generator(in).run();
}

}  // namespace rubato::schedules
