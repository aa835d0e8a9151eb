#include "topology/fair_shares.hpp"

#include <algorithm>
#include <functional>

namespace rubato::topology {

void fair_shares::reset() {
    for (const channel c : taken_) left_[c] = 1;
    taken_.clear();
}

const std::vector<double>& fair_shares::of(std::span<const std::span<const channel>> paths) {
    constexpr double growing = -1;
    rates_.assign(paths.size(), growing);
    used_.clear();
    std::size_t hops = 0;
    for (const std::span<const channel> path : paths)
        for (const channel c : path) {
            if (count_[c]++ == 0) used_.push_back(c);
            ++hops;
        }
    taken_.insert(taken_.end(), used_.begin(), used_.end());
    on_.resize(hops);
    std::uint32_t next = 0;
    heap_.clear();
    for (const channel c : used_) {
        heap_.push_back({left_[c] / count_[c], c});
        next += count_[c];
        first_[c] = next;  // counted down while its paths are entered
    }
    for (std::uint32_t i = 0; i < paths.size(); ++i) {
        if (paths[i].empty()) rates_[i] = 1;
        for (const channel c : paths[i]) on_[--first_[c]] = i;
    }
    std::ranges::make_heap(heap_, std::greater{});
    while (!heap_.empty()) {
        std::ranges::pop_heap(heap_, std::greater{});
        const candidate least = heap_.back();
        heap_.pop_back();
        if (count_[least.c] == 0) continue;
        // Others on it may have stopped growing since: then it is full later.
        const double share = left_[least.c] / count_[least.c];
        if (share > least.share) {
            heap_.push_back({share, least.c});
            std::ranges::push_heap(heap_, std::greater{});
            continue;
        }
        for (std::size_t i = first_[least.c]; count_[least.c] > 0; ++i) {
            if (rates_[on_[i]] != growing) continue;
            rates_[on_[i]] = share;
            for (const channel c : paths[on_[i]]) {
                left_[c] = std::max(left_[c] - share, 0.);
                --count_[c];
            }
        }
    }
    return rates_;
}

}  // namespace rubato::topology
