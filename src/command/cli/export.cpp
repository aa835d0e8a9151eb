// rubato export: what was observed or measured, for other tools.
#include "base/core/text.hpp"
#include "command/cli/command.hpp"
#include "reports/exports/formats.hpp"
#include "reports/report/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace rubato::command {
namespace {

struct export_options {
    std::vector<std::string> files{};
    std::string format{};
    std::string output{};
    bool json = false;
};

const reports::export_format& format_of(const export_options& o) {
    return *std::ranges::find(reports::export_formats(), o.format, &reports::export_format::name);
}

/// Of formats of which this holds.
std::vector<std::string> export_names(bool (*of)(const reports::export_format&)) {
    std::vector<std::string> out;
    for (const reports::export_format& f : reports::export_formats())
        if (of(f)) out.emplace_back(f.name);
    return out;
}

/// Of a trace of which so many calls were written as such.
void tell(const export_options& o, const reports::trace& t, std::uint64_t written) {
    if (o.json)
        return write_out(pretty({{"calls", written},
                                 {"ended", t.ended},
                                 {"format", o.format},
                                 {"missing", t.calls - std::min(t.calls, written)},
                                 {"output", o.output},
                                 {"ranks", t.ranks()}}));
    std::string text =
        fmt::format("{} of {} in {}\n", base::counted(written, "call"), base::counted(t.ranks(), "rank"), o.output);
    if (t.missing > 0)
        text += fmt::format("{}: {}\n", reports::missing_text(t),
                            written > 0 ? "their times were not kept; 'rubato exec --record all,limit=1GiB' keeps more"
                                        : "no times were kept; observe the program with 'rubato exec --record all'");
    if (written < reports::calls_in(t))
        text += fmt::format("{} calls are computing in it: not all their ranks kept them, or they are of neighbours\n",
                            reports::calls_in(t) - written);
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
    if (const auto written = format_of(o).program(o.files.front(), o.output)) tell(o, written->what, written->calls);
}

void export_measured(const export_options& o) {
    const reports::export_format& format = format_of(o);
    const base::output_file out(format.measurements != nullptr ? o.output : std::string());
    const std::vector<reports::run> runs = reports::read(o.files);
    if (format.measurements == nullptr)
        throw error(
            fmt::format("a measurement as {}", o.format), "its calls are not on one time line",
            fmt::format("give --format {}", reports::enumerate(export_names([](const reports::export_format& f) {
                                                                   return f.measurements != nullptr;
                                                               }),
                                                               "or")));
    out.write(format.measurements(runs));
}

}  // namespace

void add_export(CLI::App* app, int&) {
    auto o = std::make_shared<export_options>();
    require(add_value(*app, "FILES", o->files, "", "the file of an observed program, or files of 'rubato bench'"));
    const std::vector<std::string> all = export_names([](const reports::export_format&) { return true; });
    require(add_choice(*app, "--format", o->format, all, "FORMAT", reports::enumerate(all, "or")));
    require(add_value(*app, "-o,--output", o->output, "FILE",
                      "the file to write; for otf2 a folder, which must be new; - is the "
                      "standard output"));
    add_flag(*app, "--json", o->json, "print what was written, and how many calls are missing, as JSON");
    std::string formats;
    for (const reports::export_format& f : reports::export_formats())
        formats += fmt::format("{}{}: {}.", formats.empty() ? "" : " ", f.name, f.help);
    add_footer(*app, fmt::format(R"(
{}
A program that was observed with --record all has every call in FILE.calls. Otherwise the calls are those whose
times were kept as examples. If the program did not end, they are what its ranks left in FILE.parts.
Examples:
  rubato export solver.rubato --format perfetto -o solver.pftrace
  rubato export solver.rubato --format otf2 -o solver.otf2
  rubato export solver.rubato --format csv -o solver.csv
  rubato export solver.rubato --format prometheus -o solver.prom
  rubato export solver.rubato --format goal -o solver.goal
  rubato export reduce.jsonl --format csv -o samples.csv)",
                                 formats));
    when_called(*app, [o] {
        if (o->json && o->output == "-")
            throw error("--json with -o -", "both are written to the standard output", "name a file");
        const bool observed = std::ranges::any_of(o->files, [](const auto& f) { return dropin::is_observation(f); });
        if (observed)
            export_observed(*o);
        else
            export_measured(*o);
    });
}

}  // namespace rubato::command
