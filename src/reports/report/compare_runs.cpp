#include "reports/report/compare_runs.hpp"

#include "reports/report/diagnosis.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <map>

namespace rubato::reports {
namespace {

run_times times_of(const observed& o) {
    const diagnosis d = diagnose(o);
    run_times out{o.file, summary(o), o.from.mode, o.from.duration, {}, d.waiting};
    for (const dropin::row& r : o.from.rows) out.in_collectives += (r.time + r.waited) / std::max(1, o.from.ranks);
    return out;
}

std::string change_text(time_ns before, time_ns after) {
    const time_ns by = before - after;
    if (before <= time_ns{} || by == time_ns{}) return "took as long";
    return fmt::format("took {} {} ({:.1f} %)", format_time(by < time_ns{} ? -by : by),
                       by < time_ns{} ? "more" : "less",
                       100 * std::abs(static_cast<double>(by.count())) / static_cast<double>(before.count()));
}

}  // namespace

run_comparison compare_runs(const observed& first, const observed& second) {
    run_comparison out{{times_of(first), times_of(second)}, {}};
    std::map<std::string, std::size_t> known;
    for (const auto& [run, o] : {std::pair{std::size_t{0}, &first}, std::pair{std::size_t{1}, &second}}) {
        for (std::size_t i = 0; i < o->from.rows.size(); ++i) {
            const dropin::row& r = o->from.rows[i];
            const auto [found, fresh] = known.try_emplace(row_text(*o, i), out.places.size());
            if (fresh) out.places.push_back({found->first});
            place_times& p = out.places[found->second];
            const time_ns whole = (r.time + r.waited) / std::max(1, o->from.ranks);
            p.calls[run] += r.calls;
            p.time[run] += whole;
            if (r.seen && r.how == dropin::form::blocking)
                p.waiting[run] +=
                    time_ns(static_cast<std::int64_t>(r.seen->waiting * static_cast<double>(whole.count())));
        }
    }
    std::ranges::stable_sort(out.places, std::greater{}, [](const place_times& p) {
        return std::max(p.time[0], p.time[1]) - std::min(p.time[0], p.time[1]);
    });
    return out;
}

std::string headline(const run_comparison& c) {
    const auto& [a, b] = c.runs;
    const std::string of_run =
        a.duration > time_ns{} && b.duration > time_ns{}
            ? fmt::format("The second run {}: {}, then {}. ", change_text(a.duration, b.duration),
                          format_time(a.duration), format_time(b.duration))
            : "";
    return of_run + fmt::format("In collectives it {}: {}, then {} on each rank.",
                                change_text(a.in_collectives, b.in_collectives), format_time(a.in_collectives),
                                format_time(b.in_collectives));
}

nlohmann::ordered_json as_json(const run_comparison& c) {
    using json = nlohmann::ordered_json;
    json out{{"headline", headline(c)}, {"runs", json::array()}, {"places", json::array()}};
    for (const run_times& r : c.runs)
        out["runs"].push_back({{"file", r.file},
                               {"summary", r.summary},
                               {"mode", r.mode},
                               {"duration", r.duration.count()},
                               {"in_collectives", r.in_collectives.count()},
                               {"waiting", r.waiting.count()}});
    for (const place_times& p : c.places) {
        json runs = json::array();
        for (const std::size_t k : {0U, 1U})
            runs.push_back({{"calls", p.calls[k]}, {"time", p.time[k].count()}, {"waiting", p.waiting[k].count()}});
        out["places"].push_back({{"place", p.place}, {"runs", std::move(runs)}});
    }
    out["gained"] = (c.runs[0].duration - c.runs[1].duration).count();
    return out;
}

}  // namespace rubato::reports
