// Events in the order of time, then of step.
//
// A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990): as no event is pushed for a time that has passed, it is enough to
// keep events apart by the highest bit in which their time differs from now. Bits above it are equal, so lower buckets
// come first; when a bucket's turn comes, its events go down into lower ones. Every move runs through memory in order,
// where a binary heap of a million events misses the cache at every level.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace rubato {

struct event {
    std::int64_t time;
    std::uint32_t step;
    bool arrives;  // a message at this step, which is its receive
};

class event_queue {
public:
    bool empty() const { return next_ == batch_.size() && added_.empty() && occupied_ == 0; }

    void push(const event& e) {
        assert(e.time >= now_);
        const std::uint64_t differs = static_cast<std::uint64_t>(e.time) ^ static_cast<std::uint64_t>(now_);
        if (differs == 0) return added_.push(key(e));
        const auto bit = static_cast<std::size_t>(std::bit_width(differs) - 1);
        buckets_[bit].push_back(e);
        occupied_ |= std::uint64_t{1} << bit;
    }

    event pop() {
        if (next_ == batch_.size() && added_.empty()) advance();
        std::uint64_t least = 0;
        if (added_.empty() || (next_ < batch_.size() && batch_[next_] < added_.top())) {
            least = batch_[next_++];
        } else {
            least = added_.top();
            added_.pop();
        }
        return {now_, static_cast<std::uint32_t>(least >> 1), (least & 1) != 0};
    }

private:
    static std::uint64_t key(const event& e) { return std::uint64_t{e.step} << 1 | (e.arrives ? 1U : 0U); }

    /// Goes on to the next time at which there are events.
    void advance() {
        const std::size_t bit = static_cast<std::size_t>(std::countr_zero(occupied_));
        std::vector<event>& bucket = buckets_[bit];
        occupied_ &= ~(std::uint64_t{1} << bit);
        now_ = std::ranges::min_element(bucket, {}, &event::time)->time;
        batch_.clear();
        next_ = 0;
        for (const event& e : bucket) {
            if (e.time == now_)
                batch_.push_back(key(e));
            else
                push(e);
        }
        bucket.clear();
        if (!std::ranges::is_sorted(batch_)) std::ranges::sort(batch_);
    }

    std::int64_t now_ = INT64_MIN;
    std::array<std::vector<event>, 64> buckets_{};
    std::uint64_t occupied_ = 0;          // a bit per bucket
    std::vector<std::uint64_t> batch_{};  // the keys of events of now, in order
    std::size_t next_ = 0;                // in the batch
    std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>>
        added_{};  // since the batch was made
};

}  // namespace rubato
