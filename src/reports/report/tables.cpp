#include "reports/report/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace rubato::reports {
namespace {

std::string_view name_of(stage s) {
    switch (s) {
        case stage::warmup: return "warmup";
        case stage::screen: return "screen";
        case stage::measure: break;
    }
    return "measure";
}

const measured_case* find_case(const run& r, std::int32_t number) {
    const auto found = std::ranges::find(r.cases, number, &measured_case::number);
    return found == r.cases.end() ? nullptr : &*found;
}

double seconds(time_ns t) { return static_cast<double>(t.count()) / 1e9; }

}  // namespace

std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + '"';
}

void write_csv(std::ostream& out, std::span<const run> runs) {
    out << "file,run,collective,bytes,pattern,datatype,op,root,ranks,contestant,segments,stage,repetition,late,rank,"
           "host,"
           "arrival_ns,exit_ns,predicted_ns,bound_ns,begun_early,by_tree\n";
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const run& r = runs[i];
        for (const sample& s : r.samples) {
            const measured_case* c = find_case(r, s.in_case);
            if (c == nullptr) continue;
            const auto who = std::ranges::find_if(
                r.contestants, [&](const contestant& k) { return k.in_case == s.in_case && k.name == s.name; });
            const std::string begin = fmt::format(
                "{},{},{},{},{},{},{},{},{},{},{},{},{},{}", csv_field(r.file), i, c->collective, c->bytes,
                csv_field(c->pattern), c->datatype, c->op, c->root, r.how.ranks(), csv_field(s.name),
                who == r.contestants.end() ? 1 : who->segments, name_of(s.stage), s.repetition, s.late ? 1 : 0);
            for (std::size_t k = 0; k < s.arrivals.size(); ++k)
                out << fmt::format("{},{},{},{},{},{},{},{},{}\n", begin, k, csv_field(r.how.hosts[k]),
                                   s.arrivals[k].count(), s.exits[k].count(),
                                   s.predicted.empty() ? "" : fmt::format("{}", s.predicted[k].count()),
                                   s.bound.count(), s.begun_early, csv_field(s.by_tree));
        }
    }
}

void write_repro(std::ostream& out, std::span<const run> runs) {
    for (const run& r : runs) {
        out << fmt::format(
            "#Command-line arguments: {}\n#@nprocs={}\n#@clocktype=global\n#@sync={}\n#@window_tolerance={}\n",
            r.how.command, r.how.ranks(), r.how.start, seconds(r.how.tolerance));
        for (const auto& [name, value] : r.how.mpi_settings) out << fmt::format("#@{}={}\n", name, value);
    }
    out << fmt::format("process {:>50} {:>10} {:>12} {:>10} {:>14} {:>14} {:>14} {:>14}\n", "test", "nrep",
                       "msize_bytes", "errorcode", "loc_tstart_sec", "loc_tend_sec", "gl_tstart_sec", "gl_tend_sec");
    for (const run& r : runs) {
        for (const sample& s : r.samples) {
            const measured_case* c = find_case(r, s.in_case);
            if (c == nullptr || s.stage != stage::measure) continue;
            std::string test = fmt::format("{}|{}", s.name, c->pattern);
            std::ranges::replace(test, ' ', '_');  // columns are parted by blanks
            for (std::size_t k = 0; k < s.arrivals.size(); ++k) {
                const double start = seconds(s.arrivals[k]);
                const double end = seconds(s.exits[k]);
                out << fmt::format("{:7} {:>50} {:10} {:12} {:10} {:14.10f} {:14.10f} {:14.10f} {:14.10f}\n", k, test,
                                   s.repetition, c->bytes, s.late ? 1 : 0, start, end, start, end);
            }
        }
    }
}

}  // namespace rubato::reports
