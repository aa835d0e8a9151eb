#include "topology/flows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rubato::topology {

void flows::start(vertex from, vertex to, double bytes, std::uint64_t id, bool in_turn) {
    transfer& t = all_.emplace_back();
    routes_->along(from, to, [&t](channel c) { t.path.push_back(c); });
    t.left = bytes;
    t.id = id;
    t.in_turn = in_turn;
    changed_ = true;
}

void flows::share() {
    if (!std::exchange(changed_, false)) return;
    // Those with as many before them share what is left together.
    std::vector<std::vector<std::size_t>> turns(1);
    ahead_.assign(routes_->net().channels(), 0);
    for (std::size_t i = 0; i < all_.size(); ++i) {
        const std::size_t turn = all_[i].in_turn ? ahead_[all_[i].path.front()]++ : 0;
        if (turn == turns.size()) turns.emplace_back();
        turns[turn].push_back(i);
    }
    shares_.reset();
    std::vector<std::span<const channel>> paths;
    for (const std::vector<std::size_t>& turn : turns) {
        paths.clear();
        for (const std::size_t i : turn) paths.emplace_back(all_[i].path);
        const std::vector<double>& rates = shares_.of(paths);
        for (std::size_t k = 0; k < turn.size(); ++k) all_[turn[k]].rate = rates[k];
    }
}

std::span<const flows::transfer> flows::under_way() {
    share();
    return all_;
}

std::int64_t flows::next_end() {
    if (all_.empty()) return never;
    share();
    double soonest = 1e18;
    for (const transfer& t : all_) soonest = std::min(soonest, t.left * ns_per_byte_ / t.rate);
    return now_ + std::llround(std::ceil(soonest - 1e-6));
}

void flows::run_until(std::int64_t time, std::vector<std::uint64_t>& ended) {
    ended.clear();
    if (!all_.empty()) {
        share();
        const auto passed = static_cast<double>(time - now_);
        for (transfer& t : all_) t.left -= passed * t.rate / ns_per_byte_;
        // What would end within half a nanosecond ends now, so that transfers that began together end together.
        const auto last = std::stable_partition(
            all_.begin(), all_.end(), [&](const transfer& t) { return t.left * ns_per_byte_ / t.rate > 0.5; });
        for (auto t = last; t != all_.end(); ++t) ended.push_back(t->id);
        changed_ = changed_ || last != all_.end();
        all_.erase(last, all_.end());
    }
    now_ = time;
}

}  // namespace rubato::topology
