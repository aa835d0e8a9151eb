// Backwards, a reduction is a broadcast from the root, and a process that joins in round J leaves after R - J rounds. A
// state says for each segment which processes have it; segments are interchangeable, so states are sorted. A send to a
// process that does not hold the segment is, backwards, a send after which the sender forgets it. That gains nothing
// and is not tried.
#include "generators/exhaustive.hpp"

#include <algorithm>
#include <set>

namespace rubato::schedules {
namespace {

class search {
public:
    explicit search(const instance& in) : segments_(in.segments) {
        const admission admitted(in);
        for (std::int32_t r = 0; r < in.ranks; ++r) {
            std::int64_t round = 0;
            while (!admitted(r, round)) ++round;
            if (r == in.root.value)
                root_joins_ = round;
            else
                joins_.push_back(round);
        }
    }

    std::int64_t fewest() {
        rounds_ = std::max(root_joins_, std::ranges::max(joins_)) + 1;
        while (!enough()) ++rounds_;
        return rounds_;
    }

private:
    using state = std::vector<unsigned>;

    bool enough() {
        std::set<state> now{state(segments_, 0)};
        for (round_ = 0; round_ < rounds_ && !now.empty(); ++round_) {
            next_.clear();
            unsigned senders = 0;
            for (std::size_t i = 0; i < joins_.size(); ++i) senders |= unsigned{left(joins_[i]) > 0} << i;
            for (const state& s : now) {
                before_ = s;
                after_ = s;
                serve(0, senders, left(root_joins_) > 0);
            }
            now.swap(next_);
        }
        return !now.empty();
    }

    std::int64_t left(std::int64_t join) const { return rounds_ - join - round_; }

    /// Tries all that this receiver and those after it can get.
    void serve(std::size_t receiver, unsigned senders, bool root) {
        if (receiver == joins_.size()) {
            if (hopeless()) return;
            state sorted = after_;
            std::ranges::sort(sorted);
            next_.insert(std::move(sorted));
            return;
        }
        serve(receiver + 1, senders, root);
        if (left(joins_[receiver]) <= 0) return;
        for (std::size_t j = 0; j < segments_; ++j) {
            if ((before_[j] >> receiver & 1) != 0) continue;
            after_[j] |= 1U << receiver;
            if (root) serve(receiver + 1, senders, false);
            for (unsigned able = before_[j] & senders; able != 0; able &= able - 1)
                serve(receiver + 1, senders & ~(able & -able), root);
            after_[j] &= ~(1U << receiver);
        }
    }

    /// Whether a process lacks more segments than it has rounds left.
    bool hopeless() const {
        for (std::size_t i = 0; i < joins_.size(); ++i) {
            const auto lacks = std::ranges::count_if(after_, [i](unsigned s) { return (s >> i & 1) == 0; });
            if (lacks > std::max<std::int64_t>(0, left(joins_[i]) - 1)) return true;
        }
        return false;
    }

    std::size_t segments_;
    std::int64_t root_joins_ = 0;
    std::vector<std::int64_t> joins_{};  // the others'
    std::int64_t rounds_ = 0;
    std::int64_t round_ = 0;  // backwards
    state before_{};
    state after_{};
    std::set<state> next_{};
};

}  // namespace

admission::admission(const instance& in) : in_(in) {
    if (in.arrivals.empty()) return;
    earliest_ = std::ranges::min(in.arrivals).count();
    drift_ = delay(in.root.value);
    while (drift_ > in.round_time.count()) drift_ -= in.round_time.count();
}

std::int64_t fewest_rounds(const instance& in) {
    check(in);
    return in.ranks == 1 ? 0 : search(in).fewest();
}

}  // namespace rubato::schedules
