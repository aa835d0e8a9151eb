#include "simulator/choose/sample.hpp"

#include "base/core/hosts.hpp"

#include <algorithm>
#include <iterator>

namespace rubato::simulator {
namespace {

constexpr std::size_t step_points = 4;  // rank counts to extrapolate from
constexpr std::size_t fewest_step_points = 3;
constexpr std::int64_t most_blocks = 100'000;      // of all ranks; schedules of more are not made
constexpr std::int32_t most_counted_ranks = 4096;  // likewise
constexpr std::int32_t most_recorded = 64;         // where the steps of one rank are known only from a run of all
constexpr std::uint32_t fewest_segments = 32;      // with fewer, an algorithm may behave differently
constexpr double longest_made = 1e5;               // in steps
constexpr std::int64_t worst_steps = 5;            // per pair of ranks and segment: no algorithm takes more

constexpr double worst_bytes = 100;         // per step, where nothing is known
constexpr double most_looked_at = 1 << 26;  // bytes of a schedule that is made only to be counted

/// What a schedule has.
struct extent {
    double steps = 0;
    double bytes = 0;  ///< of memory
    double dependencies = 0;
};

/// Of the root and of another rank.
struct found {
    extent root{};
    extent other{};
};

/// Each number by a function of which one it is.
template <class F>
extent by_number(F f) {
    return {f(&extent::steps), f(&extent::bytes), f(&extent::dependencies)};
}
template <class F>
found by_rank(F f) {
    return {by_number([&f](auto which) { return f(&found::root, which); }),
            by_number([&f](auto which) { return f(&found::other, which); })};
}

/// With what an allocation takes beside what was asked for.
template <class T>
double bytes_of(const std::vector<T>& v) {
    return v.capacity() == 0 ? 0 : static_cast<double>(v.capacity() * sizeof(T) + 16);
}

extent extent_of(const schedule& s) {
    return {static_cast<double>(s.steps.size()),
            sizeof(schedule) + bytes_of(s.scratch) + bytes_of(s.steps) + bytes_of(s.first_dependency) +
                bytes_of(s.dependencies),
            static_cast<double>(s.dependencies.size())};
}

bool cheap(const algorithm& a, const problem& p) {
    if (a.dynamic != nullptr) return p.ranks <= most_recorded;
    return p.ranks <= most_counted_ranks && std::int64_t{p.ranks} * p.segments <= most_blocks;
}

/// From the root and two others.
found look(const algorithm& a, const problem& p) {
    std::vector<rank> who{p.root};
    for (const std::int64_t third : {1, 2})
        if (p.ranks > third)
            who.emplace_back(static_cast<std::int32_t>((p.root.value + third * std::max(p.ranks / 3, 1)) % p.ranks));
    std::vector<schedule> some;
    if (a.dynamic != nullptr)
        some = build_all(a, p);  // the steps of one rank are known only from a run of all
    else if (a.build_some != nullptr)
        some = a.build_some(p, who);
    else
        for (const rank r : who) some.push_back(a.build(p, r));
    found f{extent_of(some.front()), {}};
    for (std::size_t i = 1; i < some.size(); ++i) {
        const extent one = extent_of(some[i]);
        const double n = static_cast<double>(some.size() - 1);
        f.other = by_number([&](auto which) { return f.other.*which + one.*which / n; });
    }
    return f;
}

/// With so few segments that some ranks' schedules can be made.
found with_ranks(const algorithm& a, const problem& p) {
    if (cheap(a, p)) return look(a, p);
    std::vector<double> ranks;
    std::vector<found> counted;
    for (auto fewer = with_fewer_ranks(a, p); fewer && ranks.size() < step_points;
         fewer = with_fewer_ranks(a, *fewer)) {
        if (!cheap(a, *fewer)) continue;
        ranks.push_back(fewer->ranks);
        counted.push_back(look(a, *fewer));
    }
    if (ranks.size() < fewest_step_points) {
        const auto worst = static_cast<double>(worst_steps * p.ranks * p.segments);
        const extent one{worst, worst_bytes * worst, 2 * worst};
        return {one, one};
    }
    const found told = by_rank([&](auto who, auto which) {
        std::vector<double> values;
        std::ranges::transform(counted, std::back_inserter(values), [&](const found& f) { return f.*who.*which; });
        return growth(ranks, values).at(p.ranks);
    });
    // Short schedules can be looked at, which is more exact, unless each takes a plan for all ranks.
    const bool alone = a.build != nullptr && !a.arrival_aware;
    const bool small = std::max(told.root.steps, told.other.steps) <= longest_made &&
                       std::max(told.root.bytes, told.other.bytes) <= most_looked_at;
    return alone && small ? look(a, p) : told;
}

/// Each segment takes as many steps as the one before; never fewer than none, however the estimates vary.
found with_segments(const algorithm& a, problem p) {
    const std::int64_t segments = p.segments;
    const auto few = std::max<std::int64_t>(fewest_segments, most_blocks / p.ranks);
    if (!a.segmented || segments <= few) return with_ranks(a, p);
    p.segments = static_cast<std::uint32_t>(few);
    const found f = with_ranks(a, p);
    p.segments = static_cast<std::uint32_t>(few / 2);
    const found half = with_ranks(a, p);
    const std::int64_t difference = few - few / 2;
    const double more = static_cast<double>(segments - few) / static_cast<double>(difference);
    return by_rank(
        [&](auto who, auto which) { return f.*who.*which + more * std::max(f.*who.*which - half.*who.*which, 0.); });
}

/// Time to make schedules one by one, in simulated steps. Each examines the ranks around it, at most as many as the
/// busiest rank has partners; some need a plan of rounds for all hosts.
double time_to_make(const algorithm& a, const problem& p, double most) {
    if (a.build == nullptr) return 0;
    const double hosts = p.hosts.empty() ? p.ranks : base::count_hosts(p.hosts);
    const double rounds = a.has(need::round_time) ? hosts * hosts * p.segments / 16 : 0;
    return time_to_sort(a, p) + p.ranks * most / 32 + rounds;
}

}  // namespace

step_counts expected_steps(const algorithm& a, const problem& p) {
    check(a, p);
    const found f = with_segments(a, p);
    const double most = std::max(f.root.steps, f.other.steps);
    const extent all = by_number([&](auto which) { return f.root.*which + f.other.*which * (p.ranks - 1.); });
    return {most, all.steps, time_to_make(a, p, most), all.bytes, all.dependencies};
}

}  // namespace rubato::simulator
