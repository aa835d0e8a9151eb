#include "report/observed.hpp"

#include "observe/decision_json.hpp"
#include "rubato/choose.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace rubato::report {
namespace {

using json = nlohmann::ordered_json;

json numbers(const std::vector<time_ns>& times) {
    json out = json::array();
    for (const time_ns t : times) out.push_back(t.count());
    return out;
}

json as_json(const observe::who_often& w) { return w.rank < 0 ? json() : json{{"rank", w.rank}, {"share", w.share}}; }

constexpr std::string_view name_of(observe::form f) {
    switch (f) {
        case observe::form::nonblocking: return "nonblocking";
        case observe::form::persistent: return "persistent";
        case observe::form::blocking: break;
    }
    return "blocking";
}

json as_json(const observe::recalled& r) {
    json out = json(nlohmann::json(r));
    if (!traits(r.what.kind.what).rooted) out["root"] = json();
    const std::optional<late_rank> late = latest(r.what);
    out["late"] = late ? json{{"rank", late->who.value}, {"by", late->by.count()}} : json();
    return out;
}

json as_json(const observed& o, std::size_t i) {
    const observe::row& r = o.from.rows[i];
    const place& p = o.places[r.site];
    json out{{"communicator", r.communicator},
             {"collective", traits(r.what).name},
             {"form", name_of(r.how)},
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
    const observe::arrivals_seen& s = *r.seen;
    out["invocations"] = s.invocations;
    out["run_time"] = s.run_time.count();
    out["tail"] = s.tail.count();
    out["waiting"] = r.how == observe::form::blocking ? json(s.waiting) : json();
    out["imbalance"] = s.imbalance.count();
    out["imbalance_factor"] = imbalance_factor(o, r);
    out["first"] = as_json(s.first);
    out["last"] = as_json(s.last);
    if (!s.predictable.predictor.empty())
        out["predictable"] = {{"predictor", s.predictable.predictor},
                              {"error", s.predictable.error.count()},
                              {"share", s.predictable.share()},
                              {"last_right", s.predictable.last_right}};
    out["pattern"] = numbers(s.pattern);
    out["examples"] = json::array();
    for (const observe::invocation& e : s.examples)
        out["examples"].push_back(
            {{"number", e.number}, {"arrivals", numbers(e.arrivals)}, {"exits", numbers(e.exits)}});
    if (o.instead.empty()) return out;
    out["instead"] = json::array();
    for (const what_if& w : o.instead[i])
        out["instead"].push_back({{"name", w.name},
                                  {"run_time", w.run_time.count()},
                                  {"tail", w.tail.count()},
                                  {"extrapolated", w.extrapolated}});
    return out;
}

}  // namespace

observed look_at(const std::string& file, const std::string& model) {
    observed o;
    o.from = observe::read(file);
    o.file = file;
    o.places = find_places(o.from.sites);
    o.model = model.empty() ? o.from.model : model;
    if (!o.model.empty()) {
        o.network = parse_model(o.model);
        o.instead.resize(o.from.rows.size());
        o.alone.resize(o.from.rows.size());
    }
    return o;
}

void simulate_instead(observed& o, std::size_t row) {
    const observe::row& r = o.from.rows[row];
    const auto ranks = static_cast<std::int32_t>(o.from.communicators[r.communicator].members.size());
    if (!o.network || !r.seen || ranks < 2 || r.root >= ranks) return;
    if (traits(r.what).on_graph) return;  // who has which neighbours was not recorded
    problem p;
    p.what = r.what;
    p.ranks = ranks;
    p.root = rank(traits(r.what).rooted ? r.root : 0);
    p.arrivals = r.seen->pattern;
    // A v-form's chunks are taken to be alike.
    const std::int64_t chunk = traits(r.what).irregular ? r.bytes / ranks : r.bytes;
    const time_ns last = std::ranges::max(p.arrivals);
    const std::vector<candidate> all = choose(p, chunk, *o.network, candidates_for(p, chunk, *o.network, false));
    if (r.how != observe::form::blocking) {
        if (!all.empty()) o.alone[row] = std::ranges::min(all, {}, &candidate::end).end - last;
        return;
    }
    std::set<std::string_view> had;
    for (const candidate& c : all)
        if (had.insert(c.use->id).second) o.instead[row].push_back({c.name, c.end, c.end - last, c.extrapolated});
    std::ranges::stable_sort(o.instead[row], {}, &what_if::run_time);
}

std::optional<double> overlap_seen::hidden() const {
    if (!alone || *alone <= time_ns{}) return std::nullopt;
    const auto paid = static_cast<double>((start + waited).count());
    return std::clamp(1 - paid / static_cast<double>(alone->count()), 0., 1.);
}

std::optional<overlap_seen> overlap_of(const observed& o, std::size_t row) {
    const observe::row& r = o.from.rows[row];
    if (r.how == observe::form::blocking || r.ended == 0) return std::nullopt;
    const auto mean = [&r](time_ns sum) { return sum / static_cast<time_ns::rep>(r.ended); };
    return overlap_seen{r.median, mean(r.apart), mean(r.waited), o.alone.empty() ? std::nullopt : o.alone[row]};
}

double imbalance_factor(const observed& o, const observe::row& r) {
    double unit = static_cast<double>(r.seen->tail.count());
    if (o.network) {
        const hockney costs = linear_costs(*o.network);
        unit = costs.alpha + static_cast<double>(r.bytes) * costs.beta;
    }
    return static_cast<double>(r.seen->imbalance.count()) / std::max(1.0, unit);
}

std::string summary(const observed& o) {
    const observe::observation& from = o.from;
    std::set<std::string> hosts(from.hosts.begin(), from.hosts.end());
    hosts.erase("");
    std::string out =
        fmt::format("{}: {} rank{} on {} host{}{}{}", from.program, from.ranks, from.ranks == 1 ? "" : "s",
                    hosts.size(), hosts.size() == 1 ? "" : "s", from.library.empty() ? "" : ", ", from.library);
    if (!from.mode.empty()) out += fmt::format("; mode {}", from.mode);
    if (const observe::profile_read& p = from.profile; !p.file.empty())
        out += fmt::format("\nFrom the profile {}, which {} run{} written: {}what was learned of {} operation{}.",
                           p.file, p.runs, p.runs == 1 ? " has" : "s have",
                           p.network ? "the network's model, and " : "", p.experiences, p.experiences == 1 ? "" : "s");
    if (!from.ended)
        out += fmt::format("\nThe program did not end, or is still running; parts of {} of {} rank{} were found.",
                           from.parts, from.ranks, from.ranks == 1 ? "" : "s");
    if (from.lost > 0) out += fmt::format("\n{} calls are not counted: there was no room for them.", from.lost);
    return out;
}

std::string members_text(const observed& o, const observe::communicator& c) {
    constexpr std::size_t most = 12;
    const std::size_t ranks = c.members.size();
    const std::string times = c.count > 1 ? fmt::format(", {} communicators", c.count) : "";
    if (static_cast<std::int32_t>(ranks) == o.from.ranks) return fmt::format("all {} ranks{}", ranks, times);
    const bool row = ranks > 2 && c.members.back() - c.members.front() + 1 == static_cast<std::int32_t>(ranks) &&
                     std::ranges::is_sorted(c.members);
    const auto shown = c.members.begin() + static_cast<std::ptrdiff_t>(std::min(ranks, most));
    return fmt::format("{} rank{}: {}{}{}", ranks, ranks == 1 ? "" : "s",
                       row ? fmt::format("{} to {}", c.members.front(), c.members.back())
                           : fmt::format("{}", fmt::join(c.members.begin(), shown, ", ")),
                       !row && ranks > most ? ", ..." : "", times);
}

json as_json(const observed& o) {
    json out{{"file", o.file},
             {"summary", summary(o)},
             {"program", o.from.program},
             {"library", o.from.library},
             {"ranks", o.from.ranks},
             {"hosts", o.from.hosts},
             {"mode", o.from.mode},
             {"ended", o.from.ended},
             {"parts", o.from.parts},
             {"model", o.model.empty() ? json() : json(o.model)},
             {"profile", o.from.profile.file.empty() ? json() : json(nlohmann::json(o.from.profile))},
             {"imbalance_unit", o.network ? "message" : "tail"},
             {"communicators", json::array()},
             {"rows", json::array()},
             {"from_profile", json::array()},
             {"decisions", json::array()}};
    for (const observe::communicator& c : o.from.communicators)
        out["communicators"].push_back({{"text", members_text(o, c)}, {"members", c.members}, {"count", c.count}});
    for (std::size_t i = 0; i < o.from.rows.size(); ++i) out["rows"].push_back(as_json(o, i));
    for (const observe::recalled& r : o.from.from_profile) out["from_profile"].push_back(as_json(r));
    for (const decision& d : o.from.decisions) out["decisions"].push_back(json(nlohmann::json(d)));
    return out;
}

}  // namespace rubato::report
