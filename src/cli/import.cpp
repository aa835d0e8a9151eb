// rubato import: traces made by others, for 'rubato report'.
#include "cli/command.hpp"
#include "core/text.hpp"
#include "exports/imports.hpp"
#include "files/output_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>

namespace rubato::cli {
namespace {

struct import_options {
    std::string file{};
    std::string format{};
    std::string output{};
    std::string model{};
    bool json = false;
};

std::string format_of(const import_options& o) {
    if (!o.format.empty()) return o.format;
    const std::filesystem::path file = o.file;
    std::error_code none;
    if (file.extension() == ".csv") return "csv";
    if (file.extension() == ".otf2" || std::filesystem::is_directory(file, none)) return "otf2";
    throw error(fmt::format("the format of '{}'", o.file), "its name does not tell", "give --format otf2 or csv");
}

void import_trace(const import_options& o) {
    const std::string format = format_of(o);
    const std::string network = o.model.empty() ? "" : to_string(parse_model(o.model));
    const files::output_file out(o.output);
    const exports::trace t = format == "csv" ? exports::read_csv(o.file) : exports::read_otf2(o.file);
    observe::observation seen = exports::observe_trace(t);
    seen.model = network;
    observe::write(seen, o.output);
    if (o.json)
        return write_out(nlohmann::json{{"format", format},
                                        {"output", o.output},
                                        {"ranks", seen.ranks},
                                        {"calls", t.calls},
                                        {"places", seen.sites.size()}}
                             .dump(2) +
                         '\n');
    write_out(fmt::format("{} of {}, from {}: rubato report {}\n", counted(t.calls, "call"),
                          counted(seen.ranks, "rank"), counted(seen.sites.size(), "place"), o.output));
}

}  // namespace

void add_import(CLI::App& command, int&) {
    auto o = std::make_shared<import_options>();
    CLI::App* app = command.add_subcommand("import", "read a trace made by another tool, for 'rubato report'");
    app->add_option("FILE", o->file, "a trace: traces.otf2 or its folder, or a CSV file")->required();
    app->add_option("--format", o->format, "otf2 or csv, if the name does not tell")
        ->check(CLI::IsMember({"otf2", "csv"}).description(""))
        ->type_name("FORMAT");
    app->add_option("-o,--output", o->output, "the file to write, such as run.rubato")->required()->type_name("FILE");
    app->add_option("--model", o->model, "the network of the traced program, for the report's simulations")
        ->type_name("MODEL");
    app->add_flag("--json", o->json, "print what was read as JSON");
    app->footer(
        "otf2: the collectives that block, at the place that 'rubato export' noted, or else in the function around "
        "the\n"
        "call. csv: a line of column names, then a line per call and rank:\n"
        "  rank, collective (allreduce, MPI_Allreduce), arrival_ns, exit_ns (or _us, _ms, _s), which all must be "
        "there;\n"
        "  bytes (of the vector, or of one rank's chunk), root, place, host, form (blocking, nonblocking, "
        "persistent),\n"
        "  communicator (any name), members (its ranks, such as 0-7 12; otherwise those that call on it), call (its\n"
        "  number on the communicator; otherwise calls are counted in their order).\n"
        "Other columns, and lines that begin with #, are left out.\n"
        "Examples:\n"
        "  rubato import scorep-run/traces.otf2 -o run.rubato --model gige\n"
        "  rubato import calls.csv -o run.rubato\n"
        "  rubato report run.rubato -o report.html");
    app->callback([o] { import_trace(*o); });
}

}  // namespace rubato::cli
