// rubato export: what was observed or measured, for other tools.
#include "cli/command.hpp"
#include "core/text.hpp"
#include "exports/formats.hpp"
#include "report/output.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>

namespace rubato::cli {
namespace {

struct export_options {
    std::vector<std::string> files{};
    std::string format{};
    std::string output{};
    bool json = false;
};

std::uint64_t calls_in(const exports::trace& t) { return t.calls - std::min(t.calls, t.missing); }

/// Of a trace of which so many calls were written as such.
void tell(const export_options& o, const exports::trace& t, std::uint64_t written) {
    if (o.json)
        return write_out(nlohmann::json{{"format", o.format},
                                        {"output", o.output},
                                        {"ranks", t.ranks()},
                                        {"calls", written},
                                        {"missing", t.calls - std::min(t.calls, written)},
                                        {"ended", t.ended}}
                             .dump(2) +
                         '\n');
    std::string text = fmt::format("{} of {} in {}\n", counted(written, "call"), counted(t.ranks(), "rank"), o.output);
    if (t.missing > 0)
        text += fmt::format("{}: {}\n", exports::missing_text(t),
                            written > 0 ? "their times were not kept; 'rubato exec --record all,limit=1GiB' keeps more"
                                        : "no times were kept; observe the program with 'rubato exec --record all'");
    if (written < calls_in(t))
        text += fmt::format("{} calls are computing in it: not all their ranks kept them, or they are of neighbours\n",
                            calls_in(t) - written);
    if (!t.ended) text += "The program did not end, or is still running.\n";
    if (o.output == "-")
        std::fputs(text.c_str(), stderr);
    else
        write_out(text);
}

void export_observed(const export_options& o) {
    if (o.files.size() > 1)
        throw error(fmt::format("there are {} files", o.files.size()),
                    "one of them is of an observed program, which is exported alone", "give that file alone");
    if (o.format == "prometheus")
        return files::output_file(o.output).write(exports::prometheus_text(observe::read(o.files.front())));
    if (o.format == "otf2") {
        const exports::trace t = exports::read_trace(o.files.front());
        exports::write_otf2(t, o.output);
        return tell(o, t, calls_in(t));
    }
    const files::output_file out(o.output);
    const exports::trace t = exports::read_trace(o.files.front());
    std::uint64_t written = calls_in(t);
    out.write([&](const exports::piece_taker& put) {
        if (o.format == "goal")
            written = exports::write_goal(t, observe::read(o.files.front()), o.files.front(), put);
        else
            (o.format == "csv" ? exports::write_csv : exports::write_perfetto)(t, put);
    });
    tell(o, t, written);
}

void export_measured(const export_options& o) {
    const bool is_text = o.format == "csv" || o.format == "prometheus";
    const files::output_file out(is_text ? o.output : std::string());
    const std::vector<results::run> runs = results::read(o.files);
    if (!is_text)
        throw error(fmt::format("a measurement as {}", o.format), "its calls are not on one time line",
                    "give --format csv or prometheus");
    if (o.format == "prometheus") return out.write(exports::prometheus_text(runs));
    std::ostringstream text;
    report::write_csv(text, runs);
    out.write(text.view());
}

}  // namespace

void add_export(CLI::App& command, int&) {
    auto o = std::make_shared<export_options>();
    CLI::App* app =
        command.add_subcommand("export", "write what was observed or measured in the format of another tool");
    app->add_option("FILES", o->files, "the file of an observed program, or files of 'rubato bench'")->required();
    app->add_option("--format", o->format, "otf2, perfetto, csv, prometheus or goal")
        ->check(CLI::IsMember({"otf2", "perfetto", "csv", "prometheus", "goal"}).description(""))
        ->required()
        ->type_name("FORMAT");
    app->add_option("-o,--output", o->output,
                    "the file to write; for otf2 a folder, which must be new; - is the "
                    "standard output")
        ->required()
        ->type_name("FILE");
    app->add_flag("--json", o->json, "print what was written, and how many calls are missing, as JSON");
    app->footer(
        "otf2: for Vampir, Scalasca and otf2-print. perfetto: for ui.perfetto.dev. csv: a line per call and rank, "
        "times\n"
        "in nanoseconds from the beginning; of measurements, as 'rubato report --csv'. prometheus: sums for the "
        "textfile\n"
        "collector of node exporter. goal: computing, and calls as messages, for LogGOPSim and 'rubato goal read'.\n"
        "A program that was observed with --record all has every call in FILE.calls. Otherwise the calls are those "
        "whose\n"
        "times were kept as examples. If the program did not end, they are what its ranks left in FILE.parts.\n"
        "Examples:\n"
        "  rubato export solver.rubato --format perfetto -o solver.pftrace\n"
        "  rubato export solver.rubato --format otf2 -o solver.otf2\n"
        "  rubato export solver.rubato --format csv -o solver.csv\n"
        "  rubato export solver.rubato --format prometheus -o solver.prom\n"
        "  rubato export solver.rubato --format goal -o solver.goal\n"
        "  rubato export reduce.jsonl --format csv -o samples.csv");
    app->callback([o] {
        if (o->json && o->output == "-")
            throw error("--json with -o -", "both are written to the standard output", "name a file");
        const bool observed = std::ranges::any_of(o->files, [](const auto& f) { return observe::is_observation(f); });
        if (observed)
            export_observed(*o);
        else
            export_measured(*o);
    });
}

}  // namespace rubato::cli
