#include "simulator/topology/flows.hpp"

#include "simulator/simulate/at_scale.hpp"
#include "simulator/simulate/shared_cables.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace rubato::simulator {
namespace {

class flows_of_ranks final : public shared_cables {
public:
    flows_of_ranks(const routes& r, const mapping& where, double ns_per_byte)
        : where_(where), hosts_(where.begin(), where.end()), ns_per_byte_(ns_per_byte), flows_(r, ns_per_byte) {}

    std::span<const std::int32_t> hosts() const override { return hosts_; }
    bool start(std::uint32_t from, std::uint32_t to, double bytes, std::uint64_t id, bool in_turn) override {
        if (bytes * ns_per_byte_ < 0.5) return false;
        flows_.start(where_[from], where_[to], bytes, id, in_turn);
        return true;
    }
    std::int64_t next_end() override { return flows_.next_end(); }
    void run_until(std::int64_t time, std::vector<std::uint64_t>& ended) override { flows_.run_until(time, ended); }

private:
    const mapping& where_;
    std::vector<std::int32_t> hosts_;
    double ns_per_byte_;
    flows flows_;
};

}  // namespace

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

simulation simulate_on(const routes& r, const mapping& where, const model& m, schedules::shape_table& ranks,
                       std::span<const time_ns> arrivals, const simulation_options& options) {
    flows_of_ranks cables(r, where, linear_costs(m).beta);
    return simulate(m, ranks, arrivals, options, &cables);
}

}  // namespace rubato::simulator
