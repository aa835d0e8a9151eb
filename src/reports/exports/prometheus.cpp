// https://prometheus.io/docs/instrumenting/exposition_formats/, text format: all samples of a metric follow its type.
#include "base/statistics/statistics.hpp"
#include "reports/exports/formats.hpp"
#include "reports/report/symbols.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace rubato::reports {
namespace {

std::string label_value(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return out + '"';
}

using labels = std::vector<std::pair<std::string_view, std::string>>;

std::string text_of(const labels& all) {
    std::string out;
    for (const auto& [name, value] : all)
        out += fmt::format("{}{}={}", out.empty() ? "" : ",", name, label_value(value));
    return out;
}

double seconds(time_ns t) { return std::chrono::duration<double>(t).count(); }

/// Metrics in the order in which they are first given.
class metrics {
public:
    void add(std::string_view name, std::string_view type, std::string_view help, const labels& of, double value) {
        const auto [found, added] = places_.emplace(name, texts_.size());
        if (added) texts_.push_back(fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type));
        texts_[found->second] += fmt::format("{}{{{}}} {}\n", name, text_of(of), value);
    }
    std::string text() const { return fmt::format("{}", fmt::join(texts_, "")); }

private:
    std::map<std::string, std::size_t, std::less<>> places_{};
    std::vector<std::string> texts_{};
};

}  // namespace

std::string prometheus_text(const dropin::observation& o) {
    metrics out;
    const labels program{{"program", o.program}};
    out.add("rubato_ranks", "gauge", "Ranks of the program.", program, o.ranks);
    out.add("rubato_ended", "gauge", "1 if the program ended by itself.", program, o.ended ? 1 : 0);
    out.add("rubato_calls_not_counted_total", "counter", "Calls for which there was no room.", program,
            static_cast<double>(o.lost));
    // Rows that differ only in what is no label are one sample.
    using key = std::tuple<std::string, collective, dropin::form, std::int32_t, std::string>;
    struct sums {
        double calls = 0, bytes = 0, time = 0, waited = 0, imbalance = 0, seen = 0;
    };
    std::map<key, sums> rows;
    std::vector<std::string> places;
    for (const code_place& p : find_places(o.sites)) places.push_back(p.text());
    for (const dropin::row& r : o.rows) {
        sums& s = rows[{places[r.site], r.what, r.how, r.root, members_field(o.communicators[r.communicator].members)}];
        const auto calls = static_cast<double>(r.calls) * r.callers;
        s.calls += calls;
        s.bytes += calls * static_cast<double>(r.bytes);
        s.time += seconds(r.time);
        if (!r.seen) continue;
        s.waited += seconds(r.time) * r.seen->waiting;
        s.imbalance += seconds(r.seen->imbalance) * static_cast<double>(r.calls);
        s.seen += static_cast<double>(r.calls);
    }
    for (const auto& [k, s] : rows) {
        const auto& [place, what, how, root, members] = k;
        labels of{{"program", o.program},
                  {"place", place},
                  {"collective", std::string(traits(what).name)},
                  {"form", std::string(dropin::name_of(how))},
                  {"members", members}};
        if (traits(what).rooted) of.emplace_back("root", fmt::format("{}", root));
        out.add("rubato_calls_total", "counter", "Calls of all ranks.", of, s.calls);
        out.add("rubato_call_bytes_total", "counter", "Bytes of these calls: vectors, or one rank's chunks.", of,
                s.bytes);
        out.add("rubato_call_seconds_total", "counter", "Time of all ranks in these calls.", of, s.time);
        if (s.seen == 0) continue;
        out.add("rubato_waiting_seconds_total", "counter", "Of this time, until the last rank had arrived.", of,
                s.waited);
        out.add("rubato_imbalance_seconds", "gauge", "From the first arrival to the last, mean.", of,
                s.imbalance / s.seen);
    }
    return out.text();
}

std::string prometheus_text(std::span<const run> runs) {
    metrics out;
    // Several files may hold the same case.
    std::map<std::vector<std::pair<std::string_view, std::string>>, std::pair<std::vector<double>, std::vector<double>>>
        samples;
    for (const run& r : runs)
        for (const sample& s : r.samples) {
            const auto c = std::ranges::find(r.cases, s.in_case, &measured_case::number);
            if (c == r.cases.end() || s.stage != stage::measure || s.late || s.arrivals.empty()) continue;
            auto& [run_times, tails] = samples[{{"collective", c->collective},
                                                {"contestant", s.name},
                                                {"bytes", fmt::format("{}", c->bytes)},
                                                {"ranks", fmt::format("{}", r.how.ranks())},
                                                {"arrivals", c->pattern},
                                                {"datatype", c->datatype},
                                                {"op", c->op},
                                                {"root", fmt::format("{}", c->root)},
                                                {"mpi", r.how.mpi}}];
            const time_ns end = std::ranges::max(s.exits);
            run_times.push_back(seconds(end - std::ranges::min(s.arrivals)));
            tails.push_back(seconds(end - std::ranges::max(s.arrivals)));
        }
    for (const auto& [of, times] : samples) {
        out.add("rubato_samples", "gauge", "Measured calls.", of, static_cast<double>(times.first.size()));
        out.add("rubato_run_time_seconds", "gauge", "From the first arrival to the last exit, median.", of,
                base::median(times.first));
        out.add("rubato_tail_seconds", "gauge", "From the last arrival to the last exit, median.", of,
                base::median(times.second));
    }
    return out.text();
}

}  // namespace rubato::reports
