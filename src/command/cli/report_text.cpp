#include "command/cli/report_text.hpp"

#include "base/core/text.hpp"
#include "command/cli/command.hpp"
#include "rubato/problem.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace rubato::command {
namespace {

using reports::analysed_case;
using reports::entry;
using reports::versus;

struct unit {
    const char* name;
    double ns;
};

unit unit_for(double ns) {
    if (std::abs(ns) < 1e3) return {"ns", 1};
    if (std::abs(ns) < 1e6) return {"us", 1e3};
    if (std::abs(ns) < 1e9) return {"ms", 1e6};
    return {"s", 1e9};
}

/// Four digits: 1.234, 12.34, 123.4
std::string digits(double value) {
    const double size = std::abs(value);
    return fmt::format("{:.{}f}", value, size < 10 ? 3 : size < 100 ? 2 : 1);
}

std::string time_text(double ns) {
    if (ns == 0) return "0";
    const unit u = unit_for(ns);
    return fmt::format("{} {}", digits(ns / u.ns), u.name);
}

std::string time_text(const std::optional<double>& ns) { return ns ? time_text(*ns) : "-"; }

std::string interval_text(const base::estimate& e) {
    const unit u = unit_for(e.value);
    return fmt::format("{} {} [{}, {}]", digits(e.value / u.ns), u.name, digits(e.low / u.ns), digits(e.high / u.ns));
}

std::string ratio_text(const base::estimate& e) {
    return fmt::format("{:.3f} [{:.3f}, {:.3f}]", e.value, e.low, e.high);
}

std::string verdict_with_p(const versus& v) {
    const double p = v.is.p;
    return fmt::format("{} (p {})", v.verdict(), p < 0.001 ? std::string("< 0.001") : fmt::format("{:.3f}", p));
}

std::string bound_text(const entry& e) { return e.to_bound ? fmt::format("{:.2f}", *e.to_bound) : "-"; }

/// The comparison with the best native contestant, if there is one.
const versus* against_native(const entry& e) {
    const auto found = e.to_reference.find(std::string(reports::best_native));
    return found == e.to_reference.end() ? nullptr : &found->second;
}

/// Without the collective, which is in the heading.
std::string short_name(const analysed_case& c, const std::string& name) {
    const std::string prefix = c.in.collective + '/';
    return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

std::string heading(const analysed_case& c) {
    std::string what = c.in.collective;
    const collective_traits& t = traits(parse_collective(c.in.collective));
    if (!c.in.datatype.empty()) what += fmt::format(" of {}", c.in.datatype);
    if (t.reduces && !c.in.op.empty()) what += fmt::format(", {}", c.in.op);
    if (t.rooted) what += fmt::format(", root {}", c.in.root);
    if (t.on_graph) what += fmt::format(", {}", c.in.graph);
    return fmt::format("{}; {} on {}{}{}", what, base::counted(c.in.ranks, "rank"), base::counted(c.hosts, "host"),
                       c.in.conditions.empty() ? "" : "; ", c.in.conditions);
}

std::string arrivals_text(const analysed_case& c) {
    constexpr std::size_t longest = 36;
    return c.pattern.size() <= longest ? c.pattern : c.pattern.substr(0, longest - 3) + "...";
}

std::vector<std::string> winner_row(const analysed_case& c) {
    const entry* ours = c.reference(reports::best_rubato);
    const entry* theirs = c.reference(reports::best_native);
    const entry* plain = c.reference(reports::native_default);
    const versus* is = ours != nullptr ? against_native(*ours) : nullptr;
    const auto of = [](const entry* e, auto text) { return e != nullptr ? text(*e) : std::string("-"); };
    const auto run = [](const entry& e) { return time_text(e.run_time.value); };
    const auto tail = [](const entry& e) { return time_text(e.tail); };
    std::string remarks;
    for (const entry* e : {ours, theirs})
        if (e != nullptr && !e->remarks.empty())
            remarks += fmt::format("{}{}{}", remarks.empty() ? "" : "; ", e->native() ? "native: " : "",
                                   fmt::join(e->remarks, ", "));
    return {format_bytes(c.bytes),
            arrivals_text(c),
            of(ours, [&c](const entry& e) { return short_name(c, e.name); }),
            of(ours, run),
            of(ours, tail),
            of(ours, bound_text),
            of(theirs, [](const entry& e) { return e.name.substr(e.name.find(':') + 1); }),
            of(theirs, run),
            of(theirs, tail),
            of(plain, run),
            is != nullptr ? ratio_text(is->is.ratio) : "-",
            is != nullptr ? std::string(is->verdict()) : "-",
            remarks};
}

std::vector<std::string> contestant_row(const analysed_case& c, const entry& e) {
    const std::string name = short_name(c, e.name);
    if (e.calls.empty())
        return {name, "-", "-", "-", "-", "-", time_text(e.first_call), "0", fmt::format("{}", e.late), "-", "-", ""};
    const versus* is = against_native(e);
    std::string remarks = fmt::format("{}", fmt::join(e.remarks, ", "));
    if (e.screened_only) remarks = remarks.empty() ? "screened only" : "screened only, " + remarks;
    return {name,
            interval_text(e.run_time),
            time_text(e.tail),
            time_text(e.elapsed),
            time_text(e.root_exit),
            bound_text(e),
            time_text(e.first_call),
            fmt::format("{}", e.calls.size()),
            fmt::format("{}", e.late),
            is != nullptr ? ratio_text(is->is.ratio) : "-",
            is != nullptr ? verdict_with_p(*is) : "-",
            remarks};
}

std::string overlap_text(const analysed_case& c) {
    if (c.overlaps.empty()) return {};
    const auto share = [](const std::optional<double>& s) { return s ? percent(*s) : "-"; };
    table rows{{"CONTESTANT", "METHOD", ">TESTS", ">TOTAL", ">COMPUTATION", ">VISIBLE", ">HIDDEN", ">IN CALLS",
                ">FREED", ">CPU OVERHEAD", ">BUSY", ">SAMPLES"}};
    for (const reports::overlap_summary& o : c.overlaps)
        rows.push_back({short_name(c, o.name), o.method, fmt::format("{}", o.tests), time_text(o.total),
                        time_text(o.computation), time_text(o.visible), share(o.hidden), time_text(o.in_calls),
                        share(o.freed), time_text(o.overhead), share(o.busy), fmt::format("{}", o.samples)});
    return fmt::format("\noverlap: {}, {}\n\n{}", heading(c), format_bytes(c.bytes), align(rows));
}

std::string model_text(const reports::analysis& a) {
    const auto summary = reports::summarise_model(a);
    if (!summary) return {};
    table rows{{">SIZE", "ARRIVALS", "ALGORITHM", ">PREDICTED", ">MEASURED", ">ERROR"}};
    for (const analysed_case& c : a.cases)
        for (const entry& e : c.entries)
            if (e.model)
                rows.push_back({format_bytes(c.bytes), arrivals_text(c), e.name, time_text(e.model->predicted),
                                time_text(e.run_time.value), fmt::format("{:+.1f} %", 100 * e.model->error)});
    return fmt::format("\nmodel {}: median error {}, worst {}, of {} predictions\n\n{}", a.model,
                       percent(summary->median), percent(summary->worst), summary->rows, align(rows));
}

/// How fast the model's choices would have been.
std::string choice_text(const reports::analysis& a) {
    table rows{{">SIZE", "ARRIVALS", "PICKED", ">MEASURED  ", "FASTEST", ">MEASURED", "RATIO"}};
    std::size_t good = 0;
    for (const analysed_case& c : a.cases) {
        if (!c.choice) continue;
        const entry& picked = *c.find(c.choice->picked);
        const entry& fastest = *c.find(c.choice->fastest);
        if (c.choice->good()) ++good;
        rows.push_back({format_bytes(c.bytes), arrivals_text(c), picked.name,
                        time_text(picked.run_time.value) + (picked.screened_only ? " *" : "  "),
                        fastest.native() ? fmt::format("{}:{}", c.in.collective, fastest.name) : fastest.name,
                        time_text(fastest.run_time.value),
                        fmt::format("{:.3f}{}", c.choice->ratio, c.choice->good() ? "" : " missed")});
    }
    if (rows.size() == 1) return {};
    return fmt::format("\nchoice by this model: within 10 % of the fastest in {} of {} cases (*: screened only)\n\n{}",
                       good, rows.size() - 1, align(rows));
}

}  // namespace

std::string winners_text(const reports::analysis& a) {
    std::string out;
    for (auto at = a.cases.begin(); at != a.cases.end();) {
        table rows{{">SIZE", "ARRIVALS", "BEST RUBATO", ">RUN TIME", ">TAIL", ">/BOUND", "BEST NATIVE", ">RUN TIME",
                    ">TAIL", ">DEFAULT", "RATIO [95 %]", "RUBATO IS", "REMARKS"}};
        const analysed_case& first = *at;
        for (; at != a.cases.end() && at->in == first.in; ++at)
            if (std::ranges::any_of(at->entries, [](const entry& e) { return !e.calls.empty(); }))
                rows.push_back(winner_row(*at));
        if (rows.size() == 1) continue;
        out += fmt::format("\n{}\n\n{}", heading(first), align(rows));
    }
    return out;
}

std::string contestants_text(const reports::analysis& a) {
    std::string out;
    for (const analysed_case& c : a.cases) {
        table rows{{"CONTESTANT", "RUN TIME [95 %]", ">TAIL", ">ELAPSED", ">ROOT", ">/BOUND", ">FIRST CALL", ">SAMPLES",
                    ">LATE", "/BEST NATIVE [95 %]", "IS", "REMARKS"}};
        for (const entry& e : c.entries)  // not those with measured overlap only
            if (!e.calls.empty() || e.late > 0 || e.first_call) rows.push_back(contestant_row(c, e));
        if (rows.size() == 1) continue;
        out += fmt::format("\n{}, {}, arrivals {}\n\n{}", heading(c), format_bytes(c.bytes), c.pattern, align(rows));
    }
    return out;
}

std::string extras_text(const reports::analysis& a) {
    std::string out;
    for (const analysed_case& c : a.cases) out += overlap_text(c);
    return out + model_text(a) + choice_text(a);
}

}  // namespace rubato::command
