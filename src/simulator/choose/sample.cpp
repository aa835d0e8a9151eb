#include "simulator/choose/sample.hpp"

#include "base/core/overloaded.hpp"
#include "base/core/portable.hpp"
#include "rubato/arrival.hpp"

#include <algorithm>
#include <numeric>

namespace rubato::simulator {
namespace {

constexpr std::int32_t most_ranks = 4096;
constexpr std::int64_t most_rounds = 300'000;  // limit where one schedule needs the rounds of all ranks
constexpr double long_schedule = 1000;         // in steps; where schedules are so long, all ranks do about the same

/// The root, some others, and the last to arrive; each once.
std::vector<rank> some_ranks(const problem& p) {
    std::vector<rank> who{p.root};
    const auto add = [&who](std::int32_t r) {
        if (std::ranges::find(who, rank(r)) == who.end()) who.emplace_back(r);
    };
    for (const std::int32_t third : {1, 2}) add((p.root.value + third * p.ranks / 3) % p.ranks);
    if (p.neighbours) {  // ranks differ, and one that has most neighbours bounds the others
        const auto degree = [&p](std::int32_t r) {
            return p.neighbours->sources(rank(r)).size() + p.neighbours->destinations(rank(r)).size();
        };
        std::int32_t most = 0;
        for (std::int32_t r = 1; r < p.ranks; ++r)
            if (degree(r) > degree(most)) most = r;
        add(most);
    }
    if (!p.arrivals.empty() && absolute_imbalance(p.arrivals) > time_ns{})
        add(static_cast<std::int32_t>(std::ranges::max_element(p.arrivals) - p.arrivals.begin()));
    return who;
}

load mean(std::span<const load> all) {
    load sum;
    const auto n = static_cast<double>(all.size());
    for (const load& l : all) {
        sum.steps += l.steps / n;
        sum.messages += l.messages / n;
        sum.sent += l.sent / n;
        sum.received += l.received / n;
        sum.combined += l.combined / n;
    }
    return sum;
}

constexpr std::int32_t fewest_ranks = 4;
/// So many of the last arrivals stay as they are: two late ranks are a different problem than one.
constexpr std::size_t most_kept = 4;

/// About half; a power of two only if the count was one before, as many algorithms differ then.
std::int32_t half(const algorithm& a, std::int32_t ranks) {
    const std::int32_t unit = a.has(need::even_ranks) ? 2 : 1;
    const std::int32_t n = (ranks + 2 * unit - 1) / (2 * unit) * unit;
    return is_power_of_two(n) && !is_power_of_two(ranks) ? n - unit : n;
}

/// So many of these times, in their order, spread as evenly as possible, but all of the last ones.
std::vector<time_ns> thinned(std::vector<time_ns> times, std::size_t count) {
    std::ranges::sort(times);
    const std::size_t kept = std::min(most_kept, count / 2);
    const std::size_t early = times.size() - kept;
    std::vector<time_ns> some;
    for (std::size_t i = 0; i < count - kept; ++i) some.push_back(times[i * early / (count - kept)]);
    some.insert(some.end(), times.end() - static_cast<std::ptrdiff_t>(kept), times.end());
    return some;
}

class thinning {
public:
    thinning(const problem& p, std::int32_t ranks) : p_(p), ranks_(ranks) {}

    rank root() const { return rank(group(p_.root.value)); }

    std::vector<time_ns> arrivals() const {
        if (p_.arrivals.empty()) return {};
        if (absolute_imbalance(p_.arrivals) == time_ns{})
            return std::vector<time_ns>(static_cast<std::size_t>(ranks_), p_.arrivals.front());
        const bool rooted = traits(p_.what).rooted;
        std::vector<time_ns> times;
        std::vector<time_ns> latest(static_cast<std::size_t>(ranks_), time_ns::min());
        for (std::int32_t r = 0; r < p_.ranks; ++r) {
            if (rooted && r == p_.root.value) continue;
            times.push_back(p_.arrivals[static_cast<std::size_t>(r)]);
            // A late neighbour of the root does not make it late, but is late in the next group.
            const bool beside_root = rooted && group(r) == root().value;
            time_ns& of_group = latest[static_cast<std::size_t>(beside_root ? (group(r) + 1) % ranks_ : group(r))];
            of_group = std::max(of_group, times.back());
        }
        std::vector<std::size_t> groups;
        for (std::size_t g = 0; g < latest.size(); ++g)
            if (!rooted || g != static_cast<std::size_t>(root().value)) groups.push_back(g);
        std::ranges::stable_sort(groups, {}, [&](std::size_t g) { return latest[g]; });
        const std::vector<time_ns> some = thinned(std::move(times), groups.size());
        std::vector<time_ns> result(latest.size());
        for (std::size_t i = 0; i < groups.size(); ++i) result[groups[i]] = some[i];
        if (rooted)
            result[static_cast<std::size_t>(root().value)] = p_.arrivals[static_cast<std::size_t>(p_.root.value)];
        return result;
    }

    std::vector<std::int32_t> hosts() const {
        if (p_.hosts.empty()) return {};
        std::vector<std::int32_t> of_first(static_cast<std::size_t>(ranks_));
        for (std::int32_t r = p_.ranks; r-- > 0;)
            of_first[static_cast<std::size_t>(group(r))] = p_.hosts[static_cast<std::size_t>(r)];
        return numbered_hosts(of_first);
    }

private:
    std::int32_t group(std::int32_t r) const { return static_cast<std::int32_t>(std::int64_t{r} * ranks_ / p_.ranks); }

    const problem& p_;
    std::int32_t ranks_;
};

}  // namespace

time_ns least_time(const model& m, const load& l) {
    const double most = std::max(l.sent, l.received);
    const double ns = std::visit(
        base::overloaded{
            [&](const hockney& n) { return std::max(l.messages / 2 * n.alpha, most * n.beta) + l.combined * n.gamma; },
            [&](const loggp& n) {
                return std::max(l.messages * n.least_o() + l.combined * n.combine, (most - l.messages) * n.G);
            },
            [&](const loggp5& n) { return l.messages * n.o + l.sent * n.G; },
            [&](const loggops& n) {
                return l.messages * n.o + std::max(l.received - l.messages, 0.0) * n.G + l.combined * n.combine;
            }},
        m.network);
    return time_ns(static_cast<time_ns::rep>(std::clamp(ns, 0., static_cast<double>(longest_time.count()))));
}

load load_of(const schedule& s, const layout& sizes) {
    load l;
    l.steps = static_cast<double>(s.steps.size());
    for (const step& t : s.steps) {
        if (t.kind == step_kind::copy) continue;
        double& bytes = t.kind == step_kind::send ? l.sent : t.kind == step_kind::recv ? l.received : l.combined;
        bytes += static_cast<double>(sizes.length(s, t));
        if (t.is_message()) l.messages += 1;
    }
    return l;
}

std::optional<sample> take_sample(const algorithm& a, const problem& p, const setting& s) {
    const bool together = a.build_some != nullptr;
    if (p.ranks > most_ranks || (together && std::int64_t{p.ranks} * p.segments > most_rounds)) return std::nullopt;
    check(a, p);
    const std::vector<rank> who = some_ranks(p);
    std::vector<schedule> all = together ? a.build_some(p, who) : std::vector<schedule>{};
    const layout sizes = layout::uniform(s.chunk);
    sample result;
    result.hash = a.early ? 1 : 0;
    std::vector<load> loads;
    for (std::size_t i = 0; i < who.size(); ++i) {
        if (!together && i > 1 && loads.back().steps > long_schedule) break;
        const schedule one = together ? std::move(all[i]) : a.build(p, who[i]);
        loads.push_back(load_of(one, sizes));
        result.hash = (result.hash * 0x100000001b3U) ^ hash(one);
        const bool waits = !a.early && !p.arrivals.empty();
        const time_ns begin = waits ? p.arrivals[static_cast<std::size_t>(who[i].value)] : s.first_arrival();
        const time_ns takes = s.equal_links ? least_time(s.network, loads.back()) : time_ns{};
        result.least = std::max(result.least, begin + takes);
    }
    result.root = loads.front();
    result.others = mean(std::span(loads).subspan(1));
    return result;
}

double time_to_sort(const algorithm& a, const problem& p) {
    return a.arrival_aware && a.build != nullptr ? static_cast<double>(p.ranks) * p.ranks / 64 : 0;
}

std::size_t estimated_steps(const algorithm& a, const problem& p, const std::optional<sample>& some) {
    const auto ranks = static_cast<std::size_t>(p.ranks);
    if (!some) return a.build_some == nullptr ? SIZE_MAX : 3 * ranks * p.segments;
    return static_cast<std::size_t>(time_to_sort(a, p) + some->root.steps +
                                    some->others.steps * static_cast<double>(ranks - 1));
}

std::optional<problem> with_fewer_ranks(const algorithm& a, const problem& p) {
    if (p.neighbours) return std::nullopt;  // nobody knows which of them would be left
    problem q = p;
    if (a.has(need::radix_product) && !q.radix.empty()) {
        q.ranks /= q.radix.back();
        q.radix.pop_back();
        if (q.radix.empty()) return std::nullopt;
    } else if (a.has(need::idempotent_or_power) && !p.idempotent) {
        q.ranks /= (a.takes_radix ? p.radix_or(default_ways) : 1) + 1;
    } else {
        q.ranks = half(a, q.ranks);
    }
    if (q.ranks < fewest_ranks) return std::nullopt;
    const thinning thin(p, q.ranks);
    q.root = thin.root();
    q.arrivals = thin.arrivals();
    q.hosts = thin.hosts();
    q.places.clear();
    return q;
}

growth::growth(std::span<const double> ranks, std::span<const double> values)
    : ranks_(ranks.front()), value_(values.front()) {
    // Least squares of value differences to the first point, by logarithm x and ranks y, these in its units.
    double xx = 0;
    double xy = 0;
    double yy = 0;
    double xv = 0;
    double yv = 0;
    for (std::size_t i = 1; i < ranks.size(); ++i) {
        const double x = base::binary_log(ranks_ / ranks[i]);
        const double y = 1 - ranks[i] / ranks_;
        const double v = value_ - values[i];
        xx += x * x;
        xy += x * y;
        yy += y * y;
        xv += x * v;
        yv += y * v;
    }
    const double scale = xx * yy - xy * xy;
    double b = (xv * yy - yv * xy) / scale;
    double c = (xx * yv - xy * xv) / scale;
    if (b < 0) c = std::max(0., yv / yy);
    if (c < 0) b = std::max(0., xv / xx);
    per_doubling_ = std::max(0., b);
    per_rank_ = std::max(0., c) / ranks_;
}

double growth::at(double ranks) const {
    return value_ + per_doubling_ * base::binary_log(ranks / ranks_) + per_rank_ * (ranks - ranks_);
}

}  // namespace rubato::simulator
