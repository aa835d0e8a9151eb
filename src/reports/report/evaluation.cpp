#include "reports/report/analysis.hpp"
#include "rubato/arrival.hpp"
#include "rubato/problem.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
namespace rubato::reports {
namespace {

std::vector<double> collect(const std::vector<call>& calls, double call::*what) {
    std::vector<double> values;
    values.reserve(calls.size());
    for (const call& c : calls) values.push_back(c.*what);
    return values;
}

/// The distance of predicted from actual arrivals, both counted from the earliest.
std::optional<double> prediction_error(const std::vector<call>& calls) {
    std::vector<double> errors;
    for (const call& c : calls) {
        if (c.from->predicted.empty()) continue;
        const time_ns shift = std::ranges::min(c.from->predicted) - std::ranges::min(c.from->arrivals);
        for (std::size_t r = 0; r < c.from->predicted.size(); ++r)
            errors.push_back(
                std::abs(static_cast<double>((c.from->predicted[r] - c.from->arrivals[r] - shift).count())));
    }
    if (errors.empty()) return std::nullopt;
    return std::accumulate(errors.begin(), errors.end(), 0.) / static_cast<double>(errors.size());
}

std::optional<double> early_ranks(const std::vector<call>& calls) {
    double ranks = 0;
    for (const call& c : calls) ranks += c.from->begun_early;
    if (ranks == 0) return std::nullopt;
    return ranks / static_cast<double>(calls.size());
}

/// Multicast that does not work is a tree, though it keeps its name.
std::optional<std::string_view> tree_remark(const std::vector<call>& calls) {
    const auto trees = std::ranges::count_if(calls, [](const call& c) { return !c.from->by_tree.empty(); });
    if (trees == 0) return std::nullopt;
    return trees == std::ssize(calls) ? "by a tree" : "some by a tree";
}

void evaluate(entry& e, bool rooted) {
    if (e.calls.empty()) return;
    const std::vector<double> times = collect(e.calls, &call::run_time);
    e.run_time = base::estimate_median(times);
    e.remarks = base::remarks(times);
    if (const auto remark = tree_remark(e.calls)) e.remarks.insert(e.remarks.begin(), *remark);
    e.tail = base::median(collect(e.calls, &call::tail));
    e.elapsed = base::median(collect(e.calls, &call::elapsed));
    e.imbalance = base::median(collect(e.calls, &call::imbalance));
    if (rooted) e.root_exit = base::median(collect(e.calls, &call::root_exit));
    std::vector<double> to_bound = collect(e.calls, &call::to_bound);
    std::erase(to_bound, 0.);
    if (!to_bound.empty()) e.to_bound = base::median(to_bound);
    e.prediction_error = prediction_error(e.calls);
    e.early_ranks = early_ranks(e.calls);
}

/// Calls of the same repetition follow each other, so a disturbance affects both. Where most calls have such a partner,
/// the pairs are compared.
versus compare(const entry& a, const entry& b) {
    std::map<std::pair<std::size_t, std::int32_t>, double> partners;
    for (const call& c : b.calls) partners[{c.run, c.from->repetition}] = c.run_time;
    std::vector<double> first;
    std::vector<double> second;
    for (const call& c : a.calls) {
        const auto partner = partners.find({c.run, c.from->repetition});
        if (partner == partners.end()) continue;
        first.push_back(c.run_time);
        second.push_back(partner->second);
    }
    if (2 * first.size() >= std::max(a.calls.size(), b.calls.size()))
        return {base::compare_paired(first, second), first.size()};
    return {base::compare_medians(collect(a.calls, &call::run_time), collect(b.calls, &call::run_time)), 0};
}

}  // namespace

std::string_view versus::verdict() const {
    constexpr double significant = 0.05;
    if (is.p <= significant && is.ratio.high < 1) return "faster";
    if (is.p <= significant && is.ratio.low > 1) return "slower";
    constexpr std::size_t fewest = 6;  // of fewer, even if all agree, p is above 0.05
    return pairs > 0 && pairs < fewest ? "too few to say" : "not significant";
}

const call& entry::typical() const {
    const auto distance = [&](const call& c) { return std::abs(c.run_time - run_time.value); };
    return *std::ranges::min_element(calls, {}, distance);
}

const entry* analysed_case::find(std::string_view name) const {
    const auto found = std::ranges::find(entries, name, &entry::name);
    return found == entries.end() ? nullptr : &*found;
}

const entry* analysed_case::reference(std::string_view role) const {
    const auto fastest = [&](bool native) -> const entry* {
        const auto found =
            std::ranges::find_if(entries, [&](const entry& e) { return e.measured() && e.native() == native; });
        return found == entries.end() ? nullptr : &*found;
    };
    if (role == best_native) return fastest(true);
    if (role == best_rubato) return fastest(false);
    const entry* named = find(role);
    return named != nullptr && named->measured() ? named : nullptr;
}

std::vector<std::string> analysis::references() const {
    std::vector<std::string> all{std::string(best_native), std::string(native_default), std::string(best_rubato)};
    if (!reference.empty() && std::ranges::find(all, reference) == all.end()) all.push_back(reference);
    return all;
}

void evaluate(analysed_case& c, const std::vector<std::string>& references) {
    const bool rooted = traits(parse_collective(c.in.collective)).rooted;
    for (entry& e : c.entries) evaluate(e, rooted);
    std::ranges::stable_sort(
        c.entries, {}, [](const entry& e) { return std::tuple(e.calls.empty(), e.screened_only, e.run_time.value); });
    for (const std::string& role : references) {
        const entry* other = c.reference(role);
        for (entry& e : c.entries) {
            if (other == nullptr || !e.measured() || &e == other) continue;
            const versus v = compare(e, *other);
            // There is no ratio to a time of 0.
            if (std::isfinite(v.is.ratio.high)) e.to_reference[role] = v;
        }
    }
}

void relate(analysis& a) {
    for (analysed_case& c : a.cases) {
        const auto balanced = std::ranges::find_if(a.cases, [&](const analysed_case& other) {
            return other.in == c.in && other.bytes == c.bytes && other.pattern == "balanced";
        });
        if (balanced == a.cases.end() || &*balanced == &c) continue;
        for (entry& e : c.entries) {
            const entry* without = balanced->find(e.name);
            if (without == nullptr || e.calls.empty() || without->calls.empty() || without->run_time.value <= 0)
                continue;
            const auto whole = [](double ns) { return time_ns(std::llround(ns)); };
            const time_ns alone = whole(without->run_time.value);
            std::vector<double> shares;  // of each call, as arrivals may be others in each
            for (const call& k : e.calls)
                shares.push_back(normalised(absorption(alone, whole(k.run_time), whole(k.imbalance)), alone));
            e.absorption = base::estimate_median(shares);
        }
    }
}

}  // namespace rubato::reports
