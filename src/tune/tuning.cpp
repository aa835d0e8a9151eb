#include "tune/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rubato::tune {
namespace {

/// Regrets that differ by less are equal, and the other measure decides; so are run times that differ by this share.
constexpr double resolution = 0.01;
/// Imbalances are told apart at these multiples of the shortest call.
constexpr double some_imbalance = 0.5;
constexpr double much_imbalance = 4;

/// By more than what is measured or simulated exactly.
bool never_loses(const timed_way& w, const timed_way& to, const std::vector<std::size_t>& patterns) {
    return std::ranges::all_of(patterns, [&](std::size_t j) {
        return static_cast<double>(w.run_times[j].count()) <=
               (1 + resolution) * static_cast<double>(to.run_times[j].count());
    });
}

bool less(const regret& a, const regret& b, measure by) {
    const measure other = by == measure::worst ? measure::mean : measure::worst;
    if (std::abs(a.by(by) - b.by(by)) > resolution) return a.by(by) < b.by(by);
    return a.by(other) < b.by(other);
}

}  // namespace

std::string to_string(const way& w) {
    if (w.use == nullptr) return "native";
    std::string cut = w.segment > 0 ? fmt::format("@{}", format_bytes(w.segment)) : "";
    std::erase(cut, ' ');
    return fmt::format("{}{}", w.use->id, cut);
}

const timed_way* timed_problem::find(const way& w) const {
    const auto found = std::ranges::find(ways, w, &timed_way::how);
    return found == ways.end() ? nullptr : &*found;
}

time_ns timed_problem::shortest() const {
    time_ns least = longest_time;
    for (const timed_way& w : ways) least = std::min(least, std::ranges::min(w.run_times));
    return std::max(least, time_ns{1});
}

regret regret_of(const timed_problem& p, const timed_way& w, const std::vector<std::size_t>& patterns) {
    const auto unit = static_cast<double>(p.shortest().count());
    regret r;
    for (const std::size_t j : patterns) {
        time_ns soonest = w.run_times[j];
        for (const timed_way& other : p.ways) soonest = std::min(soonest, other.run_times[j]);
        const double lost = static_cast<double>((w.run_times[j] - soonest).count()) / unit;
        r.worst = std::max(r.worst, lost);
        r.mean += lost / static_cast<double>(patterns.size());
    }
    return r;
}

std::optional<pick> best(const timed_problem& p, const std::vector<std::size_t>& patterns, const demands& d) {
    if (!p.otherwise && d.keeps_unknown) return std::nullopt;
    const timed_way* const otherwise = p.otherwise ? p.find(*p.otherwise) : nullptr;
    std::optional<pick> found;
    for (const timed_way& w : p.ways) {
        if (&w == otherwise || (otherwise != nullptr && !never_loses(w, *otherwise, patterns))) continue;
        const regret r = regret_of(p, w, patterns);
        if (!found || less(r, found->expected, d.by)) found = pick{w.how, r, std::nullopt};
    }
    if (!found || otherwise == nullptr) return found;
    found->of_otherwise = regret_of(p, *otherwise, patterns);
    return found->of_otherwise->by(d.by) - found->expected.by(d.by) >= d.margin ? found : std::nullopt;
}

decided decide(const timed_problem& p, const demands& d) {
    decided all{&p};
    std::vector<std::size_t> patterns(p.imbalances.size());
    std::iota(patterns.begin(), patterns.end(), std::size_t{0});
    all.any = best(p, patterns, d);
    if (!all.any) return all;
    const auto unit = static_cast<double>(p.shortest().count());
    const time_ns limits[]{
        {}, time_ns(std::llround(some_imbalance * unit)), time_ns(std::llround(much_imbalance * unit)), longest_time};
    bool differs = false;
    for (std::size_t c = 0; c + 1 < std::size(limits); ++c) {
        std::vector<std::size_t> within;
        for (const std::size_t j : patterns)
            if (p.imbalances[j] >= limits[c] && p.imbalances[j] < limits[c + 1]) within.push_back(j);
        const std::optional<pick> chosen = within.empty() ? all.any : best(p, within, d);
        all.classes.push_back({limits[c], chosen.value_or(*all.any)});
        differs |= all.classes.back().chosen.use != all.any->use;
    }
    if (!differs) all.classes.clear();
    return all;
}

std::vector<std::int64_t> boundaries(const std::vector<std::int64_t>& sizes) {
    std::vector<std::int64_t> from;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        from.push_back(i == 0 ? sizes[0]
                              : std::llround(std::sqrt(static_cast<double>(sizes[i - 1])) *
                                             std::sqrt(static_cast<double>(sizes[i]))));
    return from;
}

}  // namespace rubato::tune
