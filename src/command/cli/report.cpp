// rubato report: what was measured, on the terminal and as a page.
#include "base/files/output_file.hpp"
#include "command/cli/command.hpp"
#include "command/cli/parallel.hpp"
#include "command/cli/report_text.hpp"
#include "reports/report/compare_runs.hpp"
#include "reports/report/output.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <set>
#include <sstream>

namespace rubato::command {
namespace {

std::string comparison_text(const reports::run_comparison& c, bool all) {
    constexpr std::size_t places_shown = 20;
    std::string out;
    for (const reports::run_times& r : c.runs) out += fmt::format("{}: {}\n", r.file, r.summary);
    out += fmt::format("\n{}\n\n", reports::headline(c));
    table lines{{"PLACE", ">CALLS", ">THEN", ">TIME", ">THEN", ">WAITING", ">THEN", ">GAINED"}};
    const std::size_t shown = all ? c.places.size() : std::min(places_shown, c.places.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const reports::place_times& p = c.places[i];
        lines.push_back({p.place, fmt::format("{}", p.calls[0]), fmt::format("{}", p.calls[1]), format_time(p.time[0]),
                         format_time(p.time[1]), format_time(p.waiting[0]), format_time(p.waiting[1]),
                         format_time(p.time[0] - p.time[1])});
    }
    out += align(lines);
    if (shown < c.places.size())
        out += fmt::format("{} more places, of which less is to be said: --all\n", c.places.size() - shown);
    return out + "Times are in the calls, mean over the ranks.\n";
}

struct report_options {
    std::vector<std::string> files{};
    std::string page{};
    std::string csv{};
    std::string repro{};
    std::string reference{};
    std::string model{};
    bool all = false;
    bool json = false;
};

/// Throws if no contestant has this name, instead of making a table without ratios.
void check_reference(const reports::analysis& a) {
    if (a.reference.empty()) return;
    for (const reports::analysed_case& c : a.cases)
        if (c.find(a.reference) != nullptr) return;
    std::vector<std::string_view> some;
    for (const reports::entry& e : a.cases.front().entries) some.emplace_back(e.name);
    throw error(fmt::format("no contestant is called '{}'", a.reference), "none of the files has it",
                fmt::format("there are {}", fmt::join(some, ", ")));
}

void check_outputs(const std::vector<std::string>& inputs, std::initializer_list<std::string> outputs) {
    std::set<std::string> seen;
    for (const std::string& out : outputs) {
        if (out.empty()) continue;
        if (!seen.insert(base::find_destination(out).file).second)
            throw error(fmt::format("'{}' is to be written twice", out), "one would take the other's place",
                        "give each output a file of its own");
        std::error_code none;
        for (const std::string& in : inputs)
            if (std::filesystem::equivalent(in, out, none))
                throw error(fmt::format("'{}' is to be read and written", out), "the measurements would be lost",
                            "write to another file");
    }
}

template <class Write>
std::string text_of(Write write) {
    std::ostringstream out;
    write(out);
    return std::move(out).str();
}

/// What is not UTF-8 is replaced.
std::string dumped(const nlohmann::ordered_json& all) {
    return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

reports::observed look_closely(const std::string& file, const std::string& model) {
    reports::observed seen = reports::look_at(file, model);
    for_each_in_parallel(seen.from.rows.size(), "examined", [&](std::size_t i) { reports::examine_row(seen, i); });
    return seen;
}

/// Two runs of a program, beside each other.
void compare_observed(const report_options& o) {
    if (o.files.size() != 2 || !std::ranges::all_of(o.files, [](const auto& f) { return dropin::is_observation(f); }))
        throw error(fmt::format("there are {} files", o.files.size()), "one of them is of an observed program",
                    "give that file alone, or two of observed programs, which are compared");
    if (!o.page.empty())
        throw error("--output is not for two observed programs", "a page is about one",
                    "leave it out, or give one file");
    const reports::observed first = look_closely(o.files[0], o.model);
    const reports::observed second = look_closely(o.files[1], o.model);
    const reports::run_comparison c = reports::compare_runs(first, second);
    write_out(o.json ? dumped(reports::as_json(c)) : comparison_text(c, o.all));
}

/// The report of an observed program, which differs from that of a measurement.
void make_observed(const report_options& o) {
    for (const auto& [option, value] :
         {std::pair{"--csv", &o.csv}, std::pair{"--repro", &o.repro}, std::pair{"--reference", &o.reference}})
        if (!value->empty())
            throw error(fmt::format("{} is not for observed programs", option), "it is about measured contestants",
                        "leave it out");
    if (o.files.size() > 1) return compare_observed(o);
    check_outputs(o.files, {o.page});
    const base::output_file page(o.page);
    const reports::observed seen = look_closely(o.files.front(), o.model);
    if (!o.page.empty()) page.write(reports::as_page(seen));
    write_out(o.json ? dumped(reports::as_json(seen)) : observed_text(seen, o.all));
}

void make(const report_options& o) {
    if (std::ranges::any_of(o.files, [](const std::string& f) { return dropin::is_observation(f); }))
        return make_observed(o);
    std::optional<model> network;
    if (!o.model.empty()) network = parse_model(o.model);
    reports::analysis a = reports::group(reports::read(o.files));
    a.reference = o.reference;
    a.model = o.model;
    check_reference(a);
    check_outputs(o.files, {o.page, o.csv, o.repro});
    const base::output_file page(o.page);
    const base::output_file csv(o.csv);
    const base::output_file repro(o.repro);

    const std::vector<std::string> references = a.references();
    for_each_in_parallel(a.cases.size(), "compared", [&](std::size_t i) { reports::evaluate(a.cases[i], references); });
    reports::relate(a);
    if (network)
        for_each_in_parallel(a.cases.size(), "simulated", [&](std::size_t i) {
            reports::check_model(a.cases[i], *network);
            reports::check_choice(a.cases[i], *network);
        });

    if (!o.page.empty()) page.write(reports::as_page(a));
    if (!o.csv.empty()) csv.write(text_of([&](std::ostream& out) { reports::write_csv(out, a.runs); }));
    if (!o.repro.empty()) repro.write(text_of([&](std::ostream& out) { reports::write_repro(out, a.runs); }));
    write_out(o.json ? dumped(reports::as_json(a))
                     : reports::summary(a) + '\n' + (o.all ? contestants_text(a) : winners_text(a)) + extras_text(a));
}

}  // namespace

void add_report(CLI::App* app, int&) {
    auto o = std::make_shared<report_options>();
    require(
        add_value(*app, "FILES", o->files, "",
                  "files of 'rubato bench', whose equal cases are put together; or the file of an observed program, or "
                  "of two, which are compared"));
    add_value(*app, "-o,--output", o->page, "FILE",
              "write a page with charts that needs no other file, such as report.html");
    add_flag(*app, "--all", o->all,
             "print every contestant of every case; for an observed program, every row and algorithm");
    add_flag(*app, "--json", o->json, "print everything that was computed, with times in nanoseconds");
    add_value(*app, "--reference", o->reference, "NAME",
              "also compare with this contestant, beside the best native one, 'native' and the best of rubato's");
    add_value(*app, "--model", o->model, "MODEL",
              "also simulate what was measured under this cost model, compare, and show what it would choose");
    add_value(*app, "--csv", o->csv, "FILE", "write a row per sample and rank, of every stage");
    add_value(*app, "--repro", o->repro, "FILE", "write the measured samples as ReproMPI's verbose table");
    add_footer(*app, R"(
Run time: from the first arrival to the last exit. Tail: from the last arrival on. Elapsed: from a rank's
arrival to its exit, mean over the ranks. /Bound: run time as a multiple of what no algorithm can beat. All
are medians, in brackets the 95 % interval. Samples in which a rank missed its planned arrival do not count.
Ratios compare calls of the same repetition where possible; p is that of the signed-rank test.
Remarks: few (fewer than 6 samples: the interval is their range), correlated, drifting, unsteady, outliers;
by a tree: multicast did not work, and the communicator's own broadcast was measured.
A contestant that was dropped after the screening is marked 'screened only' and is not compared.
--csv: file, run, collective, bytes, pattern, datatype, op, root, ranks, contestant, segments, stage,
repetition, late, rank, host, arrival_ns, exit_ns, predicted_ns, bound_ns, begun_early, by_tree; times count
from the planned start. --repro: the test is CONTESTANT|PATTERN, errorcode 1 means late, and local times are those of
the common clock.
The report of an observed program begins with a diagnosis: how much of the run is waiting, which places cost
most, who is late there and by which test, where that comes from, what mending it is worth, what to do next.
--json has it as "diagnosis". Then it has a row per communicator, operation and place of the call. TIME: in
the call, sum over the ranks. WAITING: the share of it until the last rank had arrived. IMBALANCE: the time
between the first and the last arrival, as a multiple of a message's time (--model) or of the tail. FIRST,
LAST: the rank in the world that was first or last most often. FORESEEABLE: how much of the spread of arrivals
the best predictor would have predicted, and how often the last rank. --model: what each algorithm would have
taken; calls that mode auto leaves alone are listed with --all.
Two observed programs are compared: what the second gained in all, and at each place.
If the program did not end, the report is about what its ranks left in FILE.parts, and says so.
Examples:
  rubato report solver.rubato -o report.html
  rubato report observed.rubato auto.rubato
  rubato report reduce.jsonl -o report.html
  rubato report 8-hosts.jsonl 16-hosts.jsonl --all
  rubato report reduce.jsonl --reference reduce/binomial --model file:cluster.model -o report.html
  rubato report reduce.jsonl --csv samples.csv)");
    when_called(*app, [o] { make(*o); });
}

}  // namespace rubato::command
