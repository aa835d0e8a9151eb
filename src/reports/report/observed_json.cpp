#include "base/statistics/statistics.hpp"
#include "dropin/observe/notes.hpp"
#include "reports/report/diagnosis.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <span>

namespace rubato::reports {
namespace {

using json = nlohmann::ordered_json;

/// What a page shows of rows that take less time is in tables only.
constexpr std::size_t rows_with_pictures = 24;
/// More bars cannot be told apart.
constexpr std::size_t most_bars = 128;

json numbers(const std::vector<time_ns>& times) {
    json out = json::array();
    for (const time_ns t : times) out.push_back(t.count());
    return out;
}

json who(const observed& o, const dropin::row& r, const dropin::who_often& w) {
    if (w.rank < 0) return json();
    const std::int32_t world = world_rank(o, r, w.rank);
    return {{"rank", world}, {"host", o.from.host_of(world)}, {"share", w.share}};
}

json as_json(const dropin::recalled& r) {
    json out = json(nlohmann::json(r));
    if (!traits(r.what.kind.what).rooted) out["root"] = json();
    const std::optional<dropin::late_rank> late = dropin::latest(r.what);
    out["late"] = late ? json{{"rank", late->who.value}, {"by", late->by.count()}} : json();
    return out;
}

double in_seconds(time_ns t) { return static_cast<double>(t.count()) / 1e9; }

/// Those with the median, the longest and the shortest run time; neighbouring ranks together where there are many.
json calls_to_draw(const observed& o, const dropin::row& r) {
    const dropin::arrivals_seen& s = *r.seen;
    std::vector<const dropin::invocation*> all;
    for (const dropin::invocation& e : s.examples) all.push_back(&e);
    std::ranges::stable_sort(all, {}, [](const auto* e) { return std::ranges::max(e->exits); });
    const std::size_t together = (s.pattern.size() + most_bars - 1) / most_bars;
    json out = json::array();
    const auto draw = [&](const char* which, const dropin::invocation& e) {
        json call{{"which", which}, {"number", e.number}, {"ranks", together}};
        for (std::size_t k = 0; k < e.arrivals.size(); k += together) {
            const std::size_t n = std::min(together, e.arrivals.size() - k);
            call["names"].push_back(world_rank(o, r, static_cast<std::int32_t>(k)));
            call["arrivals"].push_back(std::ranges::min(std::span(e.arrivals).subspan(k, n)).count());
            call["exits"].push_back(std::ranges::max(std::span(e.exits).subspan(k, n)).count());
        }
        out.push_back(std::move(call));
    };
    draw("the median", *all[(all.size() - 1) / 2]);
    if (all.size() > 2) {
        draw("the longest", *all.back());
        draw("the shortest", *all.front());
    }
    return out;
}

/// How long ranks wait: of every twentieth of the calls, from the shortest to the longest.
json waiting_quantiles(const dropin::arrivals_seen& s) {
    std::vector<double> waits;
    for (const dropin::brief& b : s.all) waits.push_back(static_cast<double>(b.waited.count()));
    json out = json::array();
    for (int i = 0; i <= 20 && !waits.empty(); ++i) out.push_back(std::llround(base::quantile(waits, i / 20.)));
    return out;
}

void add_pictures(json& to, const observed& o, const dropin::row& r) {
    const dropin::arrivals_seen& s = *r.seen;
    json columns = json::array();
    for (const std::vector<time_ns>& column : s.map.columns) columns.push_back(numbers(column));
    json first = json::array();
    for (std::size_t k = 0; k < s.pattern.size(); k += static_cast<std::size_t>(s.map.ranks))
        first.push_back(world_rank(o, r, static_cast<std::int32_t>(k)));
    to["map"] = {{"ranks", s.map.ranks},
                 {"first", first},
                 {"numbers", s.map.numbers},
                 {"counts", s.map.counts},
                 {"columns", columns}};
    to["waited"] = waiting_quantiles(s);
    to["drawn"] = calls_to_draw(o, r);
}

json as_json(const observed& o, std::size_t i, amount how) {
    const dropin::row& r = o.from.rows[i];
    const code_place& p = o.places[r.site];
    json out{{"communicator", r.communicator},
             {"collective", traits(r.what).name},
             {"form", dropin::name_of(r.how)},
             {"root", traits(r.what).rooted ? json(r.root) : json()},
             {"bytes", r.bytes},
             {"where", p.text()},
             {"function", p.function},
             {"file", p.file},
             {"line", p.line},
             {"module", p.module},
             {"calls", r.calls},
             {"callers", r.callers},
             {"time", r.time.count()},
             {"median", r.median.count()}};
    if (const auto is = overlap_of(o, i)) {
        const std::optional<double> hidden = is->hidden();
        out["overlap"] = {{"start", is->start.count()},
                          {"apart", is->apart.count()},
                          {"waited", is->waited.count()},
                          {"could_be_hidden", is->could_be_hidden().count()},
                          {"alone", is->alone ? json(is->alone->count()) : json()},
                          {"hidden", hidden ? json(*hidden) : json()}};
    }
    if (!r.seen) return out;
    const dropin::arrivals_seen& s = *r.seen;
    out["invocations"] = s.invocations;
    out["run_time"] = s.run_time.count();
    out["tail"] = s.tail.count();
    out["waiting"] = r.how == dropin::form::blocking ? json(s.waiting) : json();
    out["imbalance"] = s.imbalance.count();
    out["imbalance_factor"] = imbalance_factor(o, r);
    out["first"] = who(o, r, s.first);
    out["last"] = who(o, r, s.last);
    if (!s.predictable.predictor.empty())
        out["predictable"] = {{"predictor", s.predictable.predictor},
                              {"error", s.predictable.error.count()},
                              {"share", s.predictable.share()},
                              {"last_right", s.predictable.last_right}};
    if (!s.examples.empty() && (how == amount::everything || i < rows_with_pictures)) add_pictures(out, o, r);
    if (how == amount::everything) {
        out["pattern"] = numbers(s.pattern);
        out["examples"] = json::array();
        for (const dropin::invocation& e : s.examples)
            out["examples"].push_back(
                {{"number", e.number}, {"arrivals", numbers(e.arrivals)}, {"exits", numbers(e.exits)}});
    }
    if (o.examined_rows.empty()) return out;
    const examined& e = o.examined_rows[i];
    out["sampled"] = {{"calls", e.sampled}, {"run_time", e.run_time.count()}, {"tail", e.tail.count()}};
    if (!o.network) return out;
    out["auto_may_replace"] = auto_may_replace(o.from, r);
    out["ran"] = e.ran.empty() ? json() : json{{"name", e.ran}, {"known", e.ran_is_known}, {"error", e.error}};
    out["instead"] = json::array();
    for (const what_if& w : e.instead)
        out["instead"].push_back({{"name", w.name},
                                  {"run_time", w.run_time.count()},
                                  {"tail", w.tail.count()},
                                  {"by_arrivals", w.by_arrivals},
                                  {"extrapolated", w.extrapolated}});
    return out;
}

json as_json(const observed& o, const diagnosis& d) {
    json out = json::array();
    for (const finding& f : d.findings)
        out.push_back({{"place", row_text(o, f.row)},
                       {"cause", name_of(f.why)},
                       {"ranks", f.ranks},
                       {"waiting_s", in_seconds(f.waiting)},
                       {"share_of_run", f.share_of_run},
                       {"gain_if_mended_s", in_seconds(f.gain)},
                       {"advice", next_step(o, f).text()}});
    return out;
}

json worths_json(const diagnosis& d) {
    json out = json::array();
    for (const worth& w : d.worths)
        out.push_back({{"change", w.change},
                       {"gain_s", w.gain ? json(in_seconds(*w.gain)) : json()},
                       {"unknown", w.unknown.empty() ? json() : json(w.unknown)},
                       {"error", w.error ? json(*w.error) : json()}});
    return out;
}

}  // namespace

json as_json(const observed& o, amount how) {
    const diagnosis d = diagnose(o);
    json out{
        {"file", o.file},
        {"summary", summary(o)},
        {"diagnosis", as_json(o, d)},
        {"headline", headline(o, d)},
        {"words", json::array()},
        {"worth", worths_json(d)},
        {"program", o.from.program},
        {"library", o.from.library},
        {"ranks", o.from.ranks},
        {"hosts", o.from.hosts},
        {"mode", o.from.mode},
        {"ended", o.from.ended},
        {"running", o.from.running},
        {"started",
         o.from.begun.when > 0 ? json(fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(o.from.begun.when))) : json()},
        {"command", o.from.begun.command},
        {"duration", o.from.duration.count()},
        {"parts", o.from.parts},
        {"model", o.model.empty() ? json() : json(o.model)},
        {"profile", o.from.profile.file.empty() ? json() : json(nlohmann::json(o.from.profile))},
        {"imbalance_unit", o.network ? "message" : "tail"},
        {"communicators", json::array()},
        {"rows", json::array()},
        {"from_profile", json::array()},
        {"decisions", json::array()}};
    for (const dropin::communicator& c : o.from.communicators)
        out["communicators"].push_back(
            {{"text", members_text(o, c)},
             {"members", how == amount::everything ? json(c.members) : json(c.members.size())},
             {"count", c.count}});
    for (const finding& f : d.findings) {
        const advice next = next_step(o, f);
        out["words"].push_back({{"row", f.row},
                                {"sentences", sentences(o, f)},
                                {"again", said_before(d, f)},
                                {"next", next.what},
                                {"command", next.command}});
    }
    for (std::size_t i = 0; i < o.from.rows.size(); ++i) out["rows"].push_back(as_json(o, i, how));
    for (const dropin::recalled& r : o.from.from_profile) out["from_profile"].push_back(as_json(r));
    for (const dropin::decision& made : o.from.decisions) out["decisions"].push_back(json(nlohmann::json(made)));
    return out;
}

}  // namespace rubato::reports
