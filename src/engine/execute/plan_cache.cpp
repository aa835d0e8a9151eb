#include "engine/execute/plan_cache.hpp"

#include <algorithm>

namespace rubato::engine {

problem rounded(const algorithm& a, problem p, time_ns quantum) {
    if (!a.segmented) p.segments = 1;
    if (!a.takes_radix) p.radix.clear();
    if (!a.host_aware) p.hosts.clear();
    if (!a.has(need::idempotent_or_power)) p.idempotent = false;
    if (!a.arrival_aware || p.arrivals.empty()) {
        p.arrivals.clear();
        p.round_time = {};
        return p;
    }
    if (quantum <= time_ns{}) quantum = std::max(p.round_time / 2, time_ns{1});
    quantum = std::min(quantum, longest_time);
    const time_ns earliest = std::ranges::min(p.arrivals);
    bool together = true;
    for (time_ns& t : p.arrivals) {
        t = std::min((t - earliest + quantum / 2) / quantum * quantum, longest_time);
        together = together && t == time_ns{};
    }
    if (together) {
        p.arrivals.clear();
        p.round_time = {};
    } else if (!a.has(need::round_time)) {
        // Without a round time it can only use the order of arrivals.
        p.round_time = {};
        std::vector<time_ns> in_order = p.arrivals;
        std::ranges::sort(in_order);
        in_order.erase(std::unique(in_order.begin(), in_order.end()), in_order.end());
        for (time_ns& t : p.arrivals) t = time_ns(std::ranges::lower_bound(in_order, t) - in_order.begin());
    }
    return p;
}

std::size_t plan_cache::hash::operator()(const key& k) const {
    std::size_t h = std::hash<const algorithm*>()(k.use);
    const auto mix = [&h](auto v) { h = (h ^ static_cast<std::size_t>(v)) * 0x9e3779b97f4a7c15U; };
    mix(k.what.ranks);
    mix(k.what.root.value);
    mix(k.what.segments);
    mix(static_cast<int>(k.what.commutative) * 2 + static_cast<int>(k.what.idempotent));
    mix(k.what.round_time.count());
    for (const std::int32_t r : k.what.radix) mix(r);
    for (const std::int32_t host : k.what.hosts) mix(host);
    for (const time_ns t : k.what.arrivals) mix(t.count());
    return h;
}

std::shared_ptr<plan_cache::entry> plan_cache::get(const algorithm& a, const problem& p) {
    rubato::check(p);
    key wanted{&a, rounded(a, p, how_.quantum)};
    if (const auto found = plans_.find(wanted); found != plans_.end()) {
        ++counted_.hits;
        used_.splice(used_.begin(), used_, found->second.used);
        return found->second.made;
    }
    ++counted_.misses;
    problem placed = wanted.what;
    placed.places = how_.places;
    auto made = std::make_shared<entry>(entry{plan(build_one(a, placed, me_))});
    const std::size_t bytes = made->steps.bytes() + sizeof(place) + sizeof(key) +
                              wanted.what.arrivals.size() * sizeof(time_ns) +
                              wanted.what.hosts.size() * sizeof(std::int32_t);
    const auto [where, fresh] = plans_.emplace(std::move(wanted), place{made, bytes, {}});
    used_.push_front(&where->first);
    where->second.used = used_.begin();
    counted_.bytes += bytes;
    while (counted_.bytes > how_.most_bytes && used_.size() > 1) {
        const auto oldest = plans_.find(*used_.back());
        counted_.bytes -= oldest->second.bytes;
        used_.pop_back();
        plans_.erase(oldest);
    }
    return made;
}

plan_cache::statistics plan_cache::counted() const {
    statistics s = counted_;
    s.plans = plans_.size();
    return s;
}

}  // namespace rubato::engine
