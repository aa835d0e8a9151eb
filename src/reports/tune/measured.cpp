#include "reports/report/analysis.hpp"
#include "reports/tune/problems.hpp"
#include "rubato/arrival.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace rubato::reports {
namespace {

/// "native:pipeline@8KiB": the name, and the bytes of its segments; 0 if they are not smaller than the vector.
std::pair<std::string_view, std::int64_t> native_parts(std::string_view name, std::int64_t vector) {
    name.remove_prefix(name.find(':') + 1);
    const std::size_t at = name.find('@');
    if (at == std::string_view::npos) return {name, 0};
    const std::string_view cut = name.substr(at + 1);
    const bool counted = std::ranges::all_of(cut, [](char c) { return c >= '0' && c <= '9'; });
    const std::int64_t bytes =
        counted ? vector / std::max<std::int64_t>(1, parse_integer(cut, "number of segments", 1, 1 << 20))
                : parse_bytes(cut);
    return {name.substr(0, at), bytes < vector ? bytes : 0};
}

/// Nothing if it is no contender.
std::optional<way> way_of(const entry& e, collective what, std::int32_t ranks, std::int64_t bytes,
                          const contenders& who) {
    const std::int64_t vector = bytes / traits(what).sized_chunks(ranks);
    if (e.name == native_default) return way{};
    if (e.native()) {
        if (who.of == nullptr || !e.name.starts_with("native:")) return std::nullopt;
        const auto [name, segment] = native_parts(e.name, vector);
        return who.of->named(what, ranks, name, segment);
    }
    if (who.of != nullptr) return std::nullopt;
    // Not those with a radix of their own, multicast, a choice while they run, or bits that differ from rank to rank.
    const auto known = std::ranges::find(algorithms(), std::string_view(e.id), &algorithm::id);
    if (known == algorithms().end() || known->dynamic != nullptr || e.name.find(':') != std::string::npos)
        return std::nullopt;
    if (!known->same_bits || (known->early && !who.early)) return std::nullopt;
    const std::int64_t segment = (vector + e.segments - 1) / std::max<std::int64_t>(1, e.segments);
    return way{&*known, known->segmented && e.segments > 1 ? segment : 0};
}

using key = std::tuple<collective, std::int32_t, std::int64_t>;

/// Median run times by pattern.
struct measured_problem {
    std::map<std::string, time_ns> patterns{};  ///< with their imbalance
    std::vector<std::pair<way, std::map<std::string, time_ns>>> ways{};

    std::map<std::string, time_ns>& times_of(const way& w) {
        const auto found = std::ranges::find(ways, w, [](const auto& one) { return one.first; });
        return found != ways.end() ? found->second : ways.emplace_back(w, std::map<std::string, time_ns>{}).second;
    }
};

time_ns median_of(const entry& e, double call::*what) {
    std::vector<double> all;
    for (const call& c : e.calls) all.push_back(c.*what);
    return time_ns(std::llround(base::median(all)));
}

timed_problem timed(const key& k, const measured_problem& m) {
    const auto& [what, ranks, bytes] = k;
    timed_problem p{what, ranks, bytes};
    for (const auto& [pattern, imbalance] : m.patterns) p.imbalances.push_back(imbalance);
    for (const auto& [w, times] : m.ways) {
        if (times.size() != m.patterns.size()) continue;
        timed_way& one = p.ways.emplace_back(timed_way{w});
        for (const auto& [pattern, time] : times) one.run_times.push_back(time);
    }
    if (p.find(way{}) != nullptr) p.otherwise = way{};
    return p;
}

}  // namespace

std::vector<timed_problem> measured_ways(const std::vector<std::string>& files, const contenders& who) {
    std::map<key, measured_problem> found;
    const analysis a = group(read(files));
    for (const analysed_case& c : a.cases) {
        const collective what = parse_collective(c.in.collective);
        if (traits(what).on_graph) continue;
        measured_problem& m = found[{what, c.in.ranks, c.bytes}];
        for (const entry& e : c.entries) {
            const std::optional<way> w = way_of(e, what, c.in.ranks, c.bytes, who);
            if (!w || !e.measured()) continue;
            const std::string pattern = fmt::format("{}, root {}", c.pattern, c.in.root);
            m.patterns[pattern] = median_of(e, &call::imbalance);
            m.times_of(*w)[pattern] = median_of(e, &call::run_time);
        }
    }
    std::vector<timed_problem> all;
    for (const auto& [k, m] : found)
        if (timed_problem p = timed(k, m); p.ways.size() > 1) all.push_back(std::move(p));
    if (all.empty())
        throw error("nothing to tune in these measurements",
                    who.of != nullptr
                        ? "no two of the MPI library's own algorithms were measured under the same arrivals"
                        : "no two ways were measured under the same arrivals",
                    who.of != nullptr ? "measure them, with 'rubato bench COLLECTIVE/native,native:all'"
                                      : "measure several, with 'rubato bench COLLECTIVE'");
    return all;
}

}  // namespace rubato::reports
