#include "choose/steps.hpp"

#include "choose/fewer.hpp"
#include "choose/sample.hpp"

#include <algorithm>

namespace rubato {
namespace {

constexpr std::size_t step_points = 4;  // rank counts to extrapolate from
constexpr std::size_t fewest_step_points = 3;
constexpr std::int64_t most_blocks = 100'000;      // of all ranks; schedules of more are not made
constexpr std::int32_t most_counted_ranks = 4096;  // likewise
constexpr std::int32_t most_recorded = 64;         // where the steps of one rank are known only from a run of all
constexpr std::uint32_t fewest_segments = 32;      // with fewer, an algorithm may behave differently
constexpr double longest_made = 1e5;               // in steps
constexpr std::int64_t worst_steps = 5;            // per pair of ranks and segment: no algorithm takes more

/// Steps of the root and of another rank.
struct found {
    double root;
    double other;
};

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
    const auto steps = [](const schedule& one) { return static_cast<double>(one.steps.size()); };
    double others = 0;
    for (std::size_t i = 1; i < some.size(); ++i) others += steps(some[i]) / static_cast<double>(some.size() - 1);
    return {steps(some.front()), others};
}

/// With so few segments that some ranks' schedules can be made.
found with_ranks(const algorithm& a, const problem& p) {
    if (cheap(a, p)) return look(a, p);
    std::vector<double> ranks;
    std::vector<double> of_root;
    std::vector<double> of_other;
    for (auto fewer = with_fewer_ranks(a, p); fewer && ranks.size() < step_points;
         fewer = with_fewer_ranks(a, *fewer)) {
        if (!cheap(a, *fewer)) continue;
        const found f = look(a, *fewer);
        ranks.push_back(fewer->ranks);
        of_root.push_back(f.root);
        of_other.push_back(f.other);
    }
    if (ranks.size() < fewest_step_points) {
        const auto worst = static_cast<double>(worst_steps * p.ranks * p.segments);
        return {worst, worst};
    }
    const found told{growth(ranks, of_root).at(p.ranks), growth(ranks, of_other).at(p.ranks)};
    // Short schedules can be made and counted, which is more exact, unless each needs a plan for all ranks.
    const bool alone = a.build != nullptr && !a.arrival_aware;
    return alone && std::max(told.root, told.other) <= longest_made ? look(a, p) : told;
}

/// Each segment takes as many steps as the one before.
found with_segments(const algorithm& a, problem p) {
    const std::int64_t segments = p.segments;
    const auto few = std::max<std::int64_t>(fewest_segments, most_blocks / p.ranks);
    if (!a.segmented || segments <= few) return with_ranks(a, p);
    p.segments = static_cast<std::uint32_t>(few);
    const found f = with_ranks(a, p);
    p.segments = static_cast<std::uint32_t>(few / 2);
    const found half = with_ranks(a, p);
    const double more = static_cast<double>(segments - few) / static_cast<double>(few - few / 2);
    return {f.root + more * (f.root - half.root), f.other + more * (f.other - half.other)};
}

/// Time to make schedules one by one, in simulated steps. Each examines the ranks around it, at most as many as the
/// busiest rank has partners; some need a plan of rounds for all hosts.
double time_to_make(const algorithm& a, const problem& p, double most) {
    if (a.build == nullptr) return 0;
    const double hosts = p.hosts.empty() ? p.ranks : std::ranges::max(p.hosts) + 1;
    const double rounds = a.has(need::round_time) ? hosts * hosts * p.segments / 16 : 0;
    return time_to_sort(a, p) + p.ranks * most / 32 + rounds;
}

}  // namespace

step_counts expected_steps(const algorithm& a, const problem& p) {
    check(a, p);
    const found f = with_segments(a, p);
    const double most = std::max(f.root, f.other);
    return {most, f.root + f.other * (p.ranks - 1.), time_to_make(a, p, most)};
}

}  // namespace rubato
