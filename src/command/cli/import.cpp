// rubato import: traces made by others, for 'rubato report'.
#include "base/core/text.hpp"
#include "command/cli/command.hpp"
#include "reports/exports/formats.hpp"
#include "reports/report/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

namespace rubato::command {
namespace {

struct import_options {
    std::string file{};
    std::string format{};
    std::string output{};
    std::string model{};
    bool json = false;
};

std::vector<std::string> format_names() {
    std::vector<std::string> out;
    for (const reports::import_format& f : reports::import_formats()) out.emplace_back(f.name);
    return out;
}

const reports::import_format& format_of(const import_options& o) {
    const std::filesystem::path file = o.file;
    std::error_code none;
    const std::span all = reports::import_formats();
    auto found = o.format.empty() ? std::ranges::find(all, file.extension(), &reports::import_format::extension)
                                  : std::ranges::find(all, o.format, &reports::import_format::name);
    if (found == all.end() && std::filesystem::is_directory(file, none))
        found = std::ranges::find(all, true, &reports::import_format::folders);
    if (found != all.end()) return *found;
    throw error(fmt::format("the format of '{}'", o.file), "its name does not tell",
                fmt::format("give --format {}", reports::enumerate(format_names(), "or")));
}

void import_trace(const import_options& o) {
    const reports::import_format& format = format_of(o);
    const std::string network = o.model.empty() ? "" : rubato::to_string(parse_model(o.model));
    const base::output_file out(o.output);
    const reports::trace t = format.read(o.file);
    dropin::observation seen = reports::observe_trace(t);
    seen.model = network;
    dropin::write(seen, o.output);
    if (o.json)
        return write_out(pretty({{"calls", t.calls},
                                 {"format", format.name},
                                 {"output", o.output},
                                 {"places", seen.sites.size()},
                                 {"ranks", seen.ranks}}));
    write_out(fmt::format("{} of {}, from {}: rubato report {}\n", base::counted(t.calls, "call"),
                          base::counted(seen.ranks, "rank"), base::counted(seen.sites.size(), "place"), o.output));
}

}  // namespace

void add_import(CLI::App* app, int&) {
    auto o = std::make_shared<import_options>();
    require(add_value(*app, "FILE", o->file, "", "a trace: traces.otf2 or its folder, or a CSV file"));
    const std::vector<std::string> all = format_names();
    add_choice(*app, "--format", o->format, all, "FORMAT",
               reports::enumerate(all, "or") + ", if the name does not tell");
    require(add_value(*app, "-o,--output", o->output, "FILE", "the file to write, such as run.rubato"));
    add_value(*app, "--model", o->model, "MODEL", "the network of the traced program, for the report's simulations");
    add_flag(*app, "--json", o->json, "print what was read as JSON");
    std::string formats;
    for (const reports::import_format& f : reports::import_formats()) formats += fmt::format("{}: {}", f.name, f.help);
    add_footer(*app, fmt::format(R"(
{}Examples:
  rubato import scorep-run/traces.otf2 -o run.rubato --model gige
  rubato import calls.csv -o run.rubato
  rubato report run.rubato -o report.html)",
                                 formats));
    when_called(*app, [o] { import_trace(*o); });
}

}  // namespace rubato::command
