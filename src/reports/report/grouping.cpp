#include "reports/report/analysis.hpp"
#include "rubato/arrival.hpp"
#include "rubato/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace rubato::reports {
namespace {

/// The parameter of each kind of pattern that says how late ranks are.
constexpr std::pair<std::string_view, std::string_view> delays[]{{"single", "delay"}, {"alternating", "odd"},
                                                                 {"uniform", "max"},  {"normal", "sd"},
                                                                 {"gamma", "scale"},  {"bernoulli", "delay"}};

double ns(time_ns t) { return static_cast<double>(t.count()); }

call measures_of(const sample& s, std::size_t run, std::int32_t root) {
    call c;
    c.from = &s;
    c.run = run;
    const time_ns begin = *std::ranges::min_element(s.arrivals);
    c.run_time = ns(run_time(s.arrivals, s.exits));
    c.tail = ns(tail(s.arrivals, s.exits));
    for (std::size_t r = 0; r < s.exits.size(); ++r) c.elapsed += ns(s.exits[r] - s.arrivals[r]);
    c.elapsed /= static_cast<double>(s.exits.size());
    c.root_exit = ns(s.exits[static_cast<std::size_t>(root)] - begin);
    c.to_bound = s.bound > begin ? c.run_time / ns(s.bound - begin) : 0;
    c.imbalance = ns(absolute_imbalance(s.arrivals));
    return c;
}

[[noreturn]] void contradiction(const run& r, std::string_view what) {
    throw error(fmt::format("'{}' contradicts itself", r.file), what, "measure again with --output");
}

/// For each run, the conditions that differ between runs.
std::vector<std::string> differences(const std::vector<run>& runs) {
    std::map<std::string, std::set<std::string>> values;
    std::vector<std::map<std::string, std::string>> all;
    all.reserve(runs.size());
    for (const run& r : runs) all.push_back(decisive(r.how));
    for (const auto& one : all)
        for (const auto& [name, value] : one) values[name];
    for (auto& [name, seen] : values)
        for (auto& one : all) seen.insert(one.try_emplace(name, "unset").first->second);
    std::vector<std::string> result;
    for (const auto& one : all) {
        result.emplace_back();
        for (const auto& [name, value] : one)
            if (values[name].size() > 1)
                result.back() += fmt::format("{}{}={}", result.back().empty() ? "" : ", ", name, value);
    }
    return result;
}

/// The lines of one run, looked up by the number of the case.
class run_reader {
public:
    run_reader(const run& r, std::size_t index, std::string differs, std::vector<analysed_case>& cases)
        : run_(r), index_(index), differs_(std::move(differs)) {
        for (const measured_case& c : r.cases) {
            parse_collective(c.collective);
            if (c.root < 0 || c.root >= r.how.ranks()) contradiction(r, "a root is no rank");
            place_[c.number] = find_or_add(cases, c);
        }
        const std::set<std::string> hosts(r.how.hosts.begin(), r.how.hosts.end());
        for (const auto& [number, at] : place_) {
            cases[at].hosts = std::max(cases[at].hosts, hosts.size());
            cases[at].host_of = numbered_hosts(r.how.hosts);
        }
    }

    analysed_case& at(std::vector<analysed_case>& cases, std::int32_t number) const {
        const auto found = place_.find(number);
        if (found == place_.end()) contradiction(run_, fmt::format("there is no case {}", number));
        return cases[found->second];
    }

    void check(const sample& s) const {
        const auto ranks = static_cast<std::size_t>(run_.how.ranks());
        if (s.arrivals.size() != ranks || s.exits.size() != ranks ||
            (!s.predicted.empty() && s.predicted.size() != ranks))
            contradiction(run_, fmt::format("a sample of '{}' has not as many times as ranks", s.name));
        for (std::size_t r = 0; r < ranks; ++r)
            if (s.exits[r] < s.arrivals[r])
                contradiction(run_, fmt::format("in case {}, repetition {} of '{}', rank {} leaves before it comes",
                                                s.in_case, s.repetition, s.name, r));
    }

    std::size_t index() const { return index_; }

private:
    std::size_t find_or_add(std::vector<analysed_case>& cases, const measured_case& c) const {
        analysed_case fresh;
        fresh.in = {c.collective, c.datatype, c.op, c.root, run_.how.ranks(), c.graph, differs_};
        fresh.bytes = c.bytes;
        fresh.pattern = c.pattern;
        const auto same = [&](const analysed_case& old) {
            return old.in == fresh.in && old.bytes == fresh.bytes && old.pattern == fresh.pattern;
        };
        const auto found = std::ranges::find_if(cases, same);
        const auto at = static_cast<std::size_t>(found - cases.begin());
        if (found == cases.end()) {
            fresh.family = family_of(c.pattern);
            cases.push_back(std::move(fresh));
        }
        return at;
    }

    const run& run_;
    std::size_t index_;
    std::string differs_;
    std::map<std::int32_t, std::size_t> place_{};
};

entry& find_or_add(analysed_case& c, const std::string& name) {
    const auto found = std::ranges::find(c.entries, name, &entry::name);
    if (found != c.entries.end()) return *found;
    c.entries.push_back({});
    c.entries.back().name = name;
    return c.entries.back();
}

/// What was collected of one contestant until it is known which of its samples count.
struct collected {
    std::vector<call> screened{};
    std::map<std::size_t, double> first_of_run{};
};

void add_samples(const run_reader& reader, const run& r, std::vector<analysed_case>& cases,
                 std::map<std::pair<const analysed_case*, std::string>, collected>& rest) {
    for (const sample& s : r.samples) {
        reader.check(s);
        analysed_case& c = reader.at(cases, s.in_case);
        entry& e = find_or_add(c, s.name);
        collected& more = rest[{&c, s.name}];
        const call measured = measures_of(s, reader.index(), c.in.root);
        if (s.stage == stage::warmup)
            more.first_of_run.try_emplace(reader.index(), measured.run_time);
        else if (s.late)
            ++e.late;
        else
            (s.stage == stage::measure ? e.calls : more.screened).push_back(measured);
    }
}

}  // namespace

pattern_family family_of(const std::string& pattern) {
    if (pattern == "balanced") return {pattern, 0.};
    const std::size_t colon = pattern.find(':');
    for (const auto& [kind, name] : delays) {
        if (colon == std::string::npos || std::string_view(pattern).substr(0, colon) != kind) continue;
        pattern_family family{fmt::format("{}:", kind), std::nullopt};
        std::string_view list = std::string_view(pattern).substr(colon + 1);
        for (bool more = !list.empty(); more;) {
            const std::string_view item = list.substr(0, list.find(','));
            more = item.size() < list.size();
            list.remove_prefix(item.size() + (more ? 1 : 0));
            if (item.starts_with(fmt::format("{}=", name)))
                family.delay_ns = parse_time_exact(item.substr(name.size() + 1));
            else
                family.name += fmt::format("{}{}", family.name.ends_with(':') ? "" : ",", item);
        }
        if (family.name.ends_with(':')) family.name.pop_back();
        if (family.delay_ns) return family;
    }
    return {pattern, std::nullopt};
}

analysis group(std::vector<run> runs) {
    analysis a;
    a.runs = std::move(runs);
    // Cases first: the rest points to them.
    std::vector<run_reader> readers;
    const std::vector<std::string> differs = differences(a.runs);
    for (std::size_t i = 0; i < a.runs.size(); ++i) readers.emplace_back(a.runs[i], i, differs[i], a.cases);
    std::map<std::pair<const analysed_case*, std::string>, collected> rest;
    std::map<analysed_case*, std::vector<overlap>> overlaps;
    for (const run_reader& reader : readers) {
        const run& r = a.runs[reader.index()];
        for (const contestant& c : r.contestants) {
            entry& e = find_or_add(reader.at(a.cases, c.in_case), c.name);
            e.id = c.id;
            e.segments = c.segments;
            e.round_time = c.round_time;
        }
        add_samples(reader, r, a.cases, rest);
        for (const timeline& t : r.timelines) reader.at(a.cases, t.in_case).timelines.push_back(&t);
        for (const overlap& o : r.overlaps) overlaps[&reader.at(a.cases, o.in_case)].push_back(o);
    }
    for (analysed_case& c : a.cases) {
        for (entry& e : c.entries) {
            collected& more = rest[{&c, e.name}];
            if (e.calls.empty() && !more.screened.empty()) {
                e.calls = std::move(more.screened);
                e.screened_only = true;
            }
            std::vector<double> first;
            for (const auto& [run, time] : more.first_of_run) first.push_back(time);
            if (!first.empty()) e.first_call = base::median(first);
        }
        if (const auto found = overlaps.find(&c); found != overlaps.end()) c.overlaps = summarise(found->second);
    }
    // A run that was interrupted has named a case and no more.
    std::erase_if(a.cases, [](const analysed_case& c) {
        const auto silent = [](const entry& e) { return e.calls.empty() && e.late == 0 && !e.first_call; };
        return std::ranges::all_of(c.entries, silent) && c.overlaps.empty();
    });
    if (a.cases.empty())
        throw error("nothing to report", "no file holds a sample", "let 'rubato bench' measure to its end");
    std::ranges::sort(a.cases, {}, [](const analysed_case& c) {
        return std::tuple(c.in, c.bytes, c.pattern != "balanced", c.family.name, c.family.delay_ns, c.pattern);
    });
    return a;
}

}  // namespace rubato::reports
