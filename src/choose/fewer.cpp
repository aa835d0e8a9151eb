#include "choose/fewer.hpp"

#include "core/portable.hpp"
#include "rubato/arrival.hpp"
#include "rubato/problem.hpp"

#include <algorithm>
#include <numeric>

namespace rubato {
namespace {

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
        const double x = binary_log(ranks_ / ranks[i]);
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
    return value_ + per_doubling_ * binary_log(ranks / ranks_) + per_rank_ * (ranks - ranks_);
}

}  // namespace rubato
