#include "cli/measured_natives.hpp"

#include "report/analysis.hpp"
#include "rubato/arrival.hpp"

#include <algorithm>
#include <cmath>

namespace rubato::cli {
namespace {

/// No rank arrives earlier or later by more than a tenth of the spread.
bool similar(std::vector<time_ns> a, std::vector<time_ns> b) {
    const time_ns spread = std::max(absolute_imbalance(a), absolute_imbalance(b));
    const time_ns shift = std::ranges::min(a) - std::ranges::min(b);
    for (std::size_t r = 0; r < a.size(); ++r)
        if (std::chrono::abs(a[r] - b[r] - shift) > spread / 10) return false;
    return true;
}

bool fits(const report::measured_case& c, const problem& p) {
    const collective_traits& t = traits(p.what);
    if (c.in.collective != t.name || c.in.ranks != p.ranks || (t.rooted && c.in.root != p.root.value)) return false;
    try {
        return similar(parse_arrivals(c.pattern, p.ranks), p.arrivals);
    } catch (const error&) {
        return false;  // a trace that is not here
    }
}

/// Run times in nanoseconds of all calls by size, of one contestant.
using times_by_size = std::map<std::int64_t, std::vector<double>>;

std::optional<double> at(const times_by_size& measured, std::int64_t bytes) {
    const auto above = measured.lower_bound(bytes);
    if (above == measured.end()) return std::nullopt;
    const double time_above = median(above->second);
    if (above->first == bytes) return time_above;
    if (above == measured.begin()) return std::nullopt;
    const auto below = std::prev(above);
    const double time_below = median(below->second);
    const double share = static_cast<double>(bytes - below->first) / static_cast<double>(above->first - below->first);
    return time_below + share * (time_above - time_below);
}

}  // namespace

std::vector<candidate> measured_natives(const std::vector<std::string>& files, const problem& p, std::int64_t bytes) {
    if (files.empty()) return {};
    std::map<std::string, times_by_size> natives;
    const report::analysis a = report::group(results::read(files));
    for (const report::measured_case& c : a.cases) {
        if (!fits(c, p)) continue;
        for (const report::entry& e : c.entries) {
            if (!e.native() || !e.measured()) continue;
            for (const report::call& k : e.calls) natives[e.name][c.bytes].push_back(k.run_time);
        }
    }
    std::vector<candidate> found;
    for (const auto& [name, measured] : natives) {
        const auto run = at(measured, bytes);
        if (!run) continue;
        candidate c;
        c.name = name;
        c.end = std::ranges::min(p.arrivals) + time_ns(std::llround(*run));
        found.push_back(std::move(c));
    }
    return found;
}

}  // namespace rubato::cli
