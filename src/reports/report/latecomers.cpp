#include "base/statistics/statistics.hpp"
#include "reports/report/examine.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace rubato::reports {
namespace {

using dropin::brief;
using dropin::invocation;

/// Turns of more calls would need more of them to be found.
constexpr std::uint64_t longest_period = 4096;
constexpr std::uint64_t periods_per_rank = 8;
constexpr std::size_t fewest_pairs = 8;

double share_of(std::size_t part, std::size_t all) {
    return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

/// In their order.
std::vector<brief> costly(const std::vector<brief>& all) {
    std::vector<brief> by_cost;
    double whole = 0;
    for (const brief& b : all) {
        if (b.last < 0) continue;
        by_cost.push_back(b);
        whole += static_cast<double>(b.waited.count());
    }
    std::ranges::stable_sort(by_cost, std::greater{}, &brief::waited);
    double sum = 0;
    std::size_t n = 0;
    while (n < by_cost.size() && sum < costly_share * whole) sum += static_cast<double>(by_cost[n++].waited.count());
    by_cost.resize(n);
    std::ranges::sort(by_cost, {}, &brief::number);
    return by_cost;
}

class search {
public:
    search(const dropin::arrivals_seen& seen, std::span<const std::string> hosts)
        : hosts_(hosts), ranks_(hosts.size()), calls_(costly(seen.all)), counts_(ranks_) {
        std::set<std::uint64_t> numbers;
        for (const brief& b : calls_) {
            numbers.insert(b.number);
            ++counts_[static_cast<std::size_t>(b.last)];
        }
        for (const invocation& e : seen.examples)
            if (numbers.contains(e.number)) examples_.push_back(&e);
        if (examples_.empty())
            for (const invocation& e : seen.examples) examples_.push_back(&e);
    }

    latecomers find() const {
        latecomers out;
        if (const auto same = always_the_same())
            out = *same;
        else if (const auto turns = in_turn())
            out = *turns;
        else
            out = by_chance();
        out.calls = calls_.size();
        out.late = median_lateness();
        return out;
    }

private:
    time_ns median_lateness() const {
        std::vector<double> all;
        for (const invocation* e : examples_)
            all.push_back(static_cast<double>((std::ranges::max(e->arrivals) - typical(e->arrivals)).count()));
        return time_ns(static_cast<std::int64_t>(base::median(all)));
    }

    /// Ranks that are usually at least half as late as the last.
    std::vector<std::int32_t> usually_late() const {
        const auto limit = static_cast<double>(median_lateness().count()) / 2;
        std::vector<std::int32_t> late;
        std::vector<double> of_rank(examples_.size());
        std::vector<time_ns> usual;
        for (const invocation* e : examples_) usual.push_back(typical(e->arrivals));
        for (std::size_t r = 0; r < ranks_ && limit > 0; ++r) {
            std::ranges::transform(examples_, usual, of_rank.begin(), [r](const invocation* e, time_ns t) {
                return static_cast<double>((e->arrivals[r] - t).count());
            });
            if (base::median(of_rank) >= limit) late.push_back(static_cast<std::int32_t>(r));
        }
        return late;
    }

    /// Of a host that others of the communicator are not on; empty if the ranks are not of one, or are few of it.
    std::vector<std::int32_t> host_of(const std::vector<std::int32_t>& late) const {
        const std::string& name = hosts_[static_cast<std::size_t>(late.front())];
        std::vector<std::int32_t> all;
        for (std::size_t r = 0; r < ranks_; ++r)
            if (hosts_[r] == name) all.push_back(static_cast<std::int32_t>(r));
        const bool of_one = std::ranges::includes(all, late);
        return of_one && all.size() > 1 && all.size() < ranks_ && 2 * late.size() >= all.size()
                   ? all
                   : std::vector<std::int32_t>{};
    }

    std::optional<latecomers> always_the_same() const {
        std::vector<std::int32_t> late = usually_late();
        if (late.empty() || 2 * late.size() > ranks_) return std::nullopt;
        latecomers out{.how = latecomers::kind::ranks};
        if (late.size() > 1) {
            if (std::vector<std::int32_t> host = host_of(late); !host.empty()) {
                out.how = latecomers::kind::host;
                late = std::move(host);
            }
        }
        std::size_t hits = 0;
        for (const std::int32_t r : late) hits += counts_[static_cast<std::size_t>(r)];
        out.share = share_of(hits, calls_.size());
        out.by_chance = share_of(late.size(), ranks_);
        // Of the ranks, those that are late were chosen by what they did.
        out.p =
            std::min(1., static_cast<double>(ranks_) * base::chance_of_at_least(hits, calls_.size(), out.by_chance));
        out.ranks = std::move(late);
        if (out.share < most_of_them || out.p > believed_p) return std::nullopt;
        return out;
    }

    /// Pairs of successive calls of the same place in a period, and how many of them end with the same rank.
    std::pair<std::size_t, std::size_t> agreement(std::uint64_t period) const {
        std::map<std::uint64_t, std::int32_t> before;
        std::size_t pairs = 0;
        std::size_t equal = 0;
        for (const brief& b : calls_) {
            const auto [at, fresh] = before.try_emplace(b.number % period, b.last);
            if (fresh) continue;
            ++pairs;
            if (at->second == b.last) ++equal;
            at->second = b.last;
        }
        return {pairs, equal};
    }

    std::optional<latecomers> in_turn() const {
        double alike = 0;
        for (const std::size_t c : counts_) alike += share_of(c, calls_.size()) * share_of(c, calls_.size());
        const std::uint64_t longest = std::min<std::uint64_t>(
            {longest_period, periods_per_rank * ranks_, calls_.empty() ? 0 : calls_.back().number});
        for (std::uint64_t period = 1; period <= longest; ++period) {
            const auto [pairs, equal] = agreement(period);
            if (pairs < fewest_pairs || share_of(equal, pairs) < takes_turns) continue;
            const double p = static_cast<double>(longest) * base::chance_of_at_least(equal, pairs, alike);
            if (p > believed_p) continue;
            latecomers out{.how = latecomers::kind::turns, .share = share_of(equal, pairs), .by_chance = alike, .p = p};
            out.period = period;
            const auto with_turns =
                static_cast<std::size_t>(std::ranges::count_if(counts_, [](auto c) { return c > 0; }));
            for (std::size_t r = 0; r < ranks_; ++r)
                if (2 * counts_[r] * with_turns >= calls_.size()) out.ranks.push_back(static_cast<std::int32_t>(r));
            return out;
        }
        return std::nullopt;
    }

    latecomers by_chance() const {
        latecomers out;
        const auto most = std::ranges::max_element(counts_);
        out.share = share_of(*most, calls_.size());
        out.by_chance = share_of(1, ranks_);
        out.p = base::uniformity_test(counts_).p;
        return out;
    }

    std::span<const std::string> hosts_;
    std::size_t ranks_;
    std::vector<brief> calls_;
    std::vector<std::size_t> counts_;  ///< how often each rank is last
    std::vector<const invocation*> examples_{};
};

}  // namespace

time_ns typical(const arrival_times& arrivals) {
    arrival_times sorted = arrivals;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
    std::ranges::nth_element(sorted, middle);
    return *middle;
}

arrival_times without(const arrival_times& arrivals, std::span<const std::int32_t> ranks) {
    arrival_times others;
    for (std::size_t r = 0; r < arrivals.size(); ++r)
        if (std::ranges::find(ranks, static_cast<std::int32_t>(r)) == ranks.end()) others.push_back(arrivals[r]);
    if (others.empty()) return arrivals;
    const time_ns usual = typical(others);
    arrival_times out = arrivals;
    for (const std::int32_t r : ranks)
        out[static_cast<std::size_t>(r)] = std::min(out[static_cast<std::size_t>(r)], usual);
    return out;
}

arrival_times without_stragglers(const arrival_times& arrivals) {
    const time_ns usual = typical(arrivals);
    const time_ns limit = usual + (std::ranges::max(arrivals) - usual) / 2;
    arrival_times out = arrivals;
    for (time_ns& t : out)
        if (t > limit) t = usual;
    return out;
}

arrival_times without_noise(const arrival_times& arrivals) {
    const time_ns usual = typical(arrivals);
    arrival_times out = arrivals;
    for (time_ns& t : out) t = std::min(t, usual);
    return out;
}

arrival_times balanced(const arrival_times& arrivals) {
    double sum = 0;
    for (const time_ns t : arrivals) sum += static_cast<double>(t.count());
    const time_ns mean(std::llround(sum / static_cast<double>(arrivals.size())));
    return arrival_times(arrivals.size(), mean);
}

latecomers find_latecomers(const dropin::arrivals_seen& seen, std::span<const std::string> hosts) {
    return search(seen, hosts).find();
}

}  // namespace rubato::reports
