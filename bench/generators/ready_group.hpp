// The members of a round, kept in order by merging (Proficz & Ocetkiewicz 2020, 5.2).
//
// Availability minus round * d never changes once a process has joined, and a member leaves the group only when it is
// empty. So the members stay in order, and only new ones are merged in.
#pragma once

#include "schedules/clairvoyant/clairvoyant.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace rubato::schedules {

class ready_group {
public:
    explicit ready_group(const instance& in)
        : d_(in.round_time.count()),
          root_(in.root.value),
          order_(static_cast<std::size_t>(in.ranks)),
          key_(static_cast<std::size_t>(in.ranks)) {
        std::iota(order_.begin(), order_.end(), 0);
        for (std::size_t i = 0; i < in.arrivals.size(); ++i) key_[i] = in.arrivals[i].count();
        std::ranges::sort(order_, [this](std::int32_t a, std::int32_t b) { return before(a, b); });
    }

    /// Prepares the next round: drops members for which `empty(rank)` holds, adds new ones, skips rounds with only one
    /// member. False when only the root is left.
    template <class Empty>
    bool next(Empty empty) {
        std::erase_if(members_, empty);
        for (;;) {
            join();
            if (members_.size() > 1) return true;
            if (next_ == order_.size()) return false;
            const std::int64_t t = key_of(members_.front()) + round_ * d_;
            const std::int64_t wait = key_of(order_[next_]) - d_ - t;
            round_ += std::max<std::int64_t>(1, (wait + d_ - 1) / d_);
        }
    }
    void end_round() { ++round_; }

    std::int64_t round() const { return round_; }
    /// What orders members, with the rank: availability - round * d, the same as long as it is a member.
    std::int64_t key(std::int32_t member) const { return key_of(member); }
    /// By (availability, rank).
    const std::vector<std::int32_t>& members() const { return members_; }
    /// The root first.
    const std::vector<std::int32_t>& root_first() {
        ordered_.clear();
        for (const std::int32_t r : members_)
            if (r == root_) ordered_.push_back(r);
        for (const std::int32_t r : members_)
            if (r != root_) ordered_.push_back(r);
        return ordered_;
    }

private:
    std::int64_t key_of(std::int32_t r) const { return key_[static_cast<std::size_t>(r)]; }
    bool before(std::int32_t a, std::int32_t b) const { return std::pair(key_of(a), a) < std::pair(key_of(b), b); }

    void join() {
        if (next_ == order_.size()) return;
        std::int64_t earliest = key_of(order_[next_]);
        if (!members_.empty()) earliest = std::min(earliest, key_of(members_.front()) + round_ * d_);
        const auto old = static_cast<std::ptrdiff_t>(members_.size());
        while (next_ < order_.size() && key_of(order_[next_]) <= earliest + d_) {
            const std::int32_t r = order_[next_++];
            key_[static_cast<std::size_t>(r)] -= round_ * d_;
            members_.push_back(r);
        }
        std::inplace_merge(members_.begin(), members_.begin() + old, members_.end(),
                           [this](std::int32_t a, std::int32_t b) { return before(a, b); });
    }

    std::int64_t d_;
    std::int32_t root_;
    std::vector<std::int32_t> order_;  // by (arrival, rank); those before next_ have joined
    std::size_t next_ = 0;
    std::vector<std::int64_t> key_;  // arrival, and once joined, availability - round * d
    std::vector<std::int32_t> members_{};
    std::vector<std::int32_t> ordered_{};
    std::int64_t round_ = 0;
};

}  // namespace rubato::schedules
