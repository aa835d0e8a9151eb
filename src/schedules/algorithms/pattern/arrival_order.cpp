#include "schedules/algorithms/pattern/arrival_order.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace rubato::schedules {
namespace {

/// Whether a gap lasts so many rounds. Counted in rounds, as the product in nanoseconds may overflow.
bool lasts(const problem& p, time_ns gap, std::int64_t rounds) {
    return gap > time_ns{} && gap / std::max(p.round_time, time_ns{1}) >= rounds;
}

std::pair<time_ns, std::int32_t> when_and_where(const problem& p, rank r) {
    return {arrival(p, r), p.places.empty() ? r.value : p.places[static_cast<std::size_t>(r.value)]};
}

}  // namespace

time_ns arrival(const problem& p, rank r) {
    return p.arrivals.empty() ? time_ns{} : p.arrivals[static_cast<std::size_t>(r.value)];
}

std::vector<rank> others(const problem& p) {
    std::vector<rank> order;
    for (rank r; r.value < p.ranks; ++r.value)
        if (r != p.root) order.push_back(r);
    return order;
}

std::vector<rank> by_arrival(const problem& p) {
    std::vector<rank> order = others(p);
    std::ranges::sort(order, {}, [&p](rank r) { return when_and_where(p, r); });
    return order;
}

std::vector<rank> line_up(const problem& p) {
    std::vector<rank> line;
    for (rank r; r.value < p.ranks; ++r.value) line.push_back(r);
    std::ranges::sort(line, {}, [&p](rank r) { return when_and_where(p, r); });
    return line;
}

all_but_one::all_but_one(const problem& p, rank one) {
    for (rank r; r.value < p.ranks; ++r.value)
        if (r != one) who.push_back(r);
}

rank all_but_one::number(rank r) const {
    return rank(static_cast<std::int32_t>(std::ranges::lower_bound(who, r) - who.begin()));
}

problem all_but_one::among(const problem& p, collective what) const {
    problem q = p;
    q.what = what;
    q.ranks = p.ranks - 1;
    q.root = rank(q.ranks - 1);
    q.arrivals.clear();
    q.hosts.clear();
    q.places.clear();
    return q;
}

std::vector<schedule> build_for_straggler(const problem& p, std::span<const rank> who, std::int64_t rounds,
                                          built_for_straggler& late, schedule (&usual)(const problem&, rank)) {
    const std::vector<rank> line = line_up(p);
    const auto last = [&](std::size_t from_the_end) { return arrival(p, line[line.size() - from_the_end]); };
    if (line.size() < 2 || !lasts(p, last(1) - last(2), rounds))
        return build_each(who, [&](rank me) { return usual(p, me); });
    const all_but_one others(p, line.back());
    return build_each(who, [&](rank me) { return late(p, me, line, others); });
}

std::vector<joining> joining_groups(const problem& p, const std::vector<rank>& line,
                                    const std::function<std::int64_t(std::size_t)>& rounds) {
    std::vector<joining> groups{{0, 1}};
    for (std::size_t i = 1; i < line.size(); ++i) {
        const time_ns gap = arrival(p, line[i]) - arrival(p, line[i - 1]);
        if (lasts(p, gap, rounds(i)))
            groups.push_back({i, i + 1});
        else
            groups.back().end = i + 1;
    }
    return groups;
}

bool others_together(const problem& p) {
    const auto when = [&p](rank r) { return arrival(p, r); };
    const std::vector<rank> all = others(p);
    return std::ranges::adjacent_find(all, std::not_equal_to<>(), when) == all.end();
}

std::vector<double> since_first(const problem& p, const std::vector<rank>& line) {
    if (p.arrivals.empty()) return std::vector<double>(line.size());
    const auto when = [&](rank r) { return p.arrivals[static_cast<std::size_t>(r.value)]; };
    std::vector<double> arrivals;
    arrivals.reserve(line.size());
    for (const rank r : line) arrivals.push_back(static_cast<double>((when(r) - when(line[0])).count()));
    return arrivals;
}

}  // namespace rubato::schedules
