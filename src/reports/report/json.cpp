#include "base/core/text.hpp"
#include "reports/report/output.hpp"
#include "rubato/problem.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace rubato::reports {
namespace {

using json = nlohmann::ordered_json;

/// Limit for the picture of arrivals of one case: more would make the page slow.
constexpr std::size_t most_cells = 6000;

template <class T>
json or_null(const std::optional<T>& value) {
    return value ? json(*value) : json();
}

json as_json(const base::estimate& e) { return {{"value", e.value}, {"low", e.low}, {"high", e.high}}; }

json numbers(const std::vector<time_ns>& times, time_ns begin) {
    json out = json::array();
    for (const time_ns t : times) out.push_back((t - begin).count());
    return out;
}

time_ns first(const std::vector<time_ns>& arrivals) { return *std::ranges::min_element(arrivals); }

json as_json(const entry& e) {
    json out{{"name", e.name},         {"native", e.native()},
             {"segments", e.segments}, {"samples", e.calls.size()},
             {"late", e.late},         {"first_call", or_null(e.first_call)}};
    if (e.calls.empty()) return out;
    out["screened_only"] = e.screened_only;
    out["run_time"] = as_json(e.run_time);
    out["tail"] = e.tail;
    out["elapsed"] = e.elapsed;
    out["imbalance"] = e.imbalance;
    out["root_exit"] = or_null(e.root_exit);
    out["to_bound"] = or_null(e.to_bound);
    out["prediction_error"] = or_null(e.prediction_error);
    out["early_ranks"] = or_null(e.early_ranks);
    out["absorption"] = e.absorption ? as_json(*e.absorption) : json();
    out["remarks"] = e.remarks;
    out["to_reference"] = json::object();
    for (const auto& [reference, v] : e.to_reference) {
        json& ratio = out["to_reference"][reference] = as_json(v.is.ratio);
        ratio.update({{"p", v.is.p}, {"pairs", v.pairs}, {"verdict", v.verdict()}});
    }
    if (e.model)
        out["model"] = {{"predicted", e.model->predicted},
                        {"error", e.model->error},
                        {"energy_j", e.model->energy_j},
                        {"memory_bytes", e.model->memory},
                        {"pareto", e.model->on_front}};
    for (const call& c : e.calls) out["values"].push_back(c.run_time);
    const sample& typical = *e.typical().from;
    const time_ns begin = first(typical.arrivals);
    out["typical"] = {{"repetition", typical.repetition},
                      {"arrivals", numbers(typical.arrivals, begin)},
                      {"exits", numbers(typical.exits, begin)}};
    return out;
}

/// Arrivals of the fastest contestant's calls, each from its first arrival on.
json arrivals_of(const analysed_case& c) {
    if (c.entries.empty() || c.entries.front().calls.empty()) return {};
    const entry& e = c.entries.front();
    json rows = json::array();
    const std::size_t most = std::max<std::size_t>(1, most_cells / static_cast<std::size_t>(c.in.ranks));
    for (std::size_t i = 0; i < std::min(most, e.calls.size()); ++i) {
        const sample& s = *e.calls[i].from;
        rows.push_back(numbers(s.arrivals, first(s.arrivals)));
    }
    return {{"name", e.name}, {"invocations", e.calls.size()}, {"rows", std::move(rows)}};
}

json as_json(const timeline& t) {
    const time_ns begin = first(t.arrivals);
    json ranks = json::array();
    for (const auto& steps : t.steps) {
        json list = json::array();
        for (const timeline_step& s : steps)
            list.push_back({s.kind, s.peer, (s.begin - begin).count(), (s.end - begin).count()});
        ranks.push_back(std::move(list));
    }
    return {{"name", t.name},
            {"arrivals", numbers(t.arrivals, begin)},
            {"exits", numbers(t.exits, begin)},
            {"steps", std::move(ranks)}};
}

json as_json(const overlap_summary& o) {
    return {{"name", o.name},         {"method", o.method},
            {"tests", o.tests},       {"samples", o.samples},
            {"total", o.total},       {"computation", o.computation},
            {"visible", o.visible},   {"hidden", or_null(o.hidden)},
            {"in_calls", o.in_calls}, {"freed", or_null(o.freed)},
            {"overhead", o.overhead}, {"busy", or_null(o.busy)}};
}

json name_of(const entry* e) { return e != nullptr ? json(e->name) : json(); }

json as_json(const analysed_case& c) {
    const collective_traits& kind = traits(parse_collective(c.in.collective));
    json out{{"collective", c.in.collective},
             {"datatype", c.in.datatype},
             {"op", kind.reduces ? c.in.op : ""},
             {"root", kind.rooted ? json(c.in.root) : json()},
             {"graph", kind.on_graph ? json(c.in.graph) : json()},
             {"ranks", c.in.ranks},
             {"conditions", c.in.conditions},
             {"hosts", c.hosts},
             {"bytes", c.bytes},
             {"pattern", c.pattern},
             {"family", c.family.name},
             {"delay", or_null(c.family.delay_ns)},
             {"best_rubato", name_of(c.reference(best_rubato))},
             {"best_native", name_of(c.reference(best_native))},
             {"native", name_of(c.reference(native_default))},
             {"contestants", json::array()},
             {"arrivals", arrivals_of(c)},
             {"timelines", json::array()},
             {"overlaps", json::array()}};
    for (const entry& e : c.entries) out["contestants"].push_back(as_json(e));
    for (const timeline* t : c.timelines)
        if (!t->arrivals.empty()) out["timelines"].push_back(as_json(*t));
    for (const overlap_summary& o : c.overlaps) out["overlaps"].push_back(as_json(o));
    if (c.choice)
        out["choice"] = {{"picked", c.choice->picked},
                         {"fastest", c.choice->fastest},
                         {"ratio", c.choice->ratio},
                         {"good", c.choice->good()}};
    return out;
}

json as_json(const run& r) {
    const conditions& h = r.how;
    return {{"file", r.file},
            {"command", h.command},
            {"started", h.started},
            {"rubato", h.rubato},
            {"compiler", h.compiler},
            {"mpi", h.mpi},
            {"mpi_settings", h.mpi_settings},
            {"system", h.system},
            {"cpu", h.cpu},
            {"cores", h.cores},
            {"ranks", h.ranks()},
            {"hosts", h.hosts},
            {"seed", fmt::format("{}", h.seed)},  // too large for JavaScript's numbers
            {"start", h.start},
            {"tolerance", h.tolerance.count()},
            {"delay", h.delay},
            {"prediction", h.prediction},
            {"model", h.model},
            {"link_latency", h.link.latency.count()},
            {"link_ns_per_byte", h.link.ns_per_byte},
            {"clock_error", h.clock_error.count()}};
}

}  // namespace

std::string enumerate(const std::vector<std::string>& names, std::string_view last) {
    std::string out;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i > 0) out += i + 1 < names.size() ? std::string(", ") : fmt::format(" {} ", last);
        out += names[i];
    }
    return out;
}

std::string summary(const analysis& a) {
    std::set<std::string> collectives;
    std::set<std::pair<std::int32_t, std::size_t>> sizes;
    for (const analysed_case& c : a.cases) {
        collectives.insert(c.in.collective);
        sizes.emplace(c.in.ranks, c.hosts);
    }
    std::set<std::string> places;
    for (const auto& [ranks, hosts] : sizes)
        places.insert(fmt::format("{} on {}", base::counted(ranks, "rank"), base::counted(hosts, "host")));
    std::set<std::string> dates;
    for (const run& r : a.runs) dates.insert(r.how.started);
    dates.erase("");
    std::string when;
    if (!dates.empty()) when = fmt::format(", measured {}", *dates.begin());
    if (dates.size() > 1) when += fmt::format(" to {}", *dates.rbegin());
    time_ns clock{};
    for (const run& r : a.runs) clock = std::max(clock, r.how.clock_error);
    if (clock > time_ns{}) when += fmt::format("; clocks agree within {}", format_time(clock));
    return fmt::format("{}: {} of {}{}", enumerate({places.begin(), places.end()}),
                       base::counted(a.cases.size(), "case"), enumerate({collectives.begin(), collectives.end()}),
                       when);
}

json as_json(const analysis& a) {
    json out{
        {"summary", summary(a)}, {"references", a.references()}, {"cases", json::array()}, {"runs", json::array()}};
    for (const analysed_case& c : a.cases) out["cases"].push_back(as_json(c));
    for (const run& r : a.runs) out["runs"].push_back(as_json(r));
    if (const auto s = summarise_model(a))
        out["model"] = {{"name", a.model}, {"median_error", s->median}, {"worst_error", s->worst}, {"rows", s->rows}};
    return out;
}

}  // namespace rubato::reports
