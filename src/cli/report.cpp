// rubato report: what was measured, on the terminal and as a page.
#include "command.hpp"
#include "output.hpp"
#include "parallel.hpp"
#include "report_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>

namespace rubato::cli {
namespace {

struct options {
    std::vector<std::string> files{};
    std::string page{};
    std::string csv{};
    std::string repro{};
    std::string reference{};
    std::string model{};
    bool all = false;
    bool json = false;
};

/// An output that was asked for, opened before anything is computed. Its name is for errors.
class output {
public:
    output(std::string file, const std::vector<std::string>& inputs) : file_(std::move(file)) {
        if (file_.empty()) return;
        std::error_code none;
        for (const std::string& in : inputs)
            if (std::filesystem::equivalent(in, file_, none))
                throw error(fmt::format("'{}' is to be read and written", file_), "the measurements would be lost",
                            "write to another file");
        out_.open(file_, std::ios::trunc | std::ios::binary);
        if (!out_) fail();
    }

    template <class Write>
    void write(Write write) {
        if (file_.empty()) return;
        write(static_cast<std::ostream&>(out_));
        out_.flush();
        if (!out_) fail();
    }

private:
    [[noreturn]] void fail() const {
        throw error(fmt::format("cannot write '{}'", file_), std::strerror(errno), "write to another place");
    }

    std::string file_;
    std::ofstream out_{};
};

/// A name that is nowhere is a mistake, not a table without ratios.
void check_reference(const report::analysis& a) {
    if (a.reference.empty()) return;
    for (const report::measured_case& c : a.cases)
        if (c.find(a.reference) != nullptr) return;
    std::string some;
    for (const report::entry& e : a.cases.front().entries)
        some += fmt::format("{}{}", some.empty() ? "" : ", ", e.name);
    throw error(fmt::format("no contestant is called '{}'", a.reference), "none of the files has it",
                fmt::format("there are {}", some));
}

void check_outputs(std::initializer_list<std::string> files) {
    std::set<std::filesystem::path> seen;
    for (const std::string& f : files)
        if (!f.empty() && !seen.insert(std::filesystem::absolute(f).lexically_normal()).second)
            throw error(fmt::format("'{}' is to be written twice", f), "one would take the other's place",
                        "give each output a file of its own");
}

void make(const options& o) {
    std::optional<model> network;
    if (!o.model.empty()) network = parse_model(o.model);
    report::analysis a = report::group(results::read(o.files));
    a.reference = o.reference;
    a.model = o.model;
    check_reference(a);
    check_outputs({o.page, o.csv, o.repro});
    output page(o.page, o.files);
    output csv(o.csv, o.files);
    output repro(o.repro, o.files);

    const std::vector<std::string> references = a.references();
    for_each_in_parallel(a.cases.size(), "compared", [&](std::size_t i) { report::evaluate(a.cases[i], references); });
    report::relate(a);
    if (network)
        for_each_in_parallel(a.cases.size(), "simulated", [&](std::size_t i) {
            report::check_model(a.cases[i], *network);
            report::check_choice(a.cases[i], *network);
        });

    page.write([&](std::ostream& out) { out << report::as_page(a); });
    csv.write([&](std::ostream& out) { report::write_csv(out, a.runs); });
    repro.write([&](std::ostream& out) { report::write_repro(out, a.runs); });
    if (o.json)
        write_out(report::as_json(a).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
    else
        write_out(report::summary(a) + '\n' + (o.all ? contestants_text(a) : winners_text(a)) + extras_text(a));
}

}  // namespace

void add_report(CLI::App& command, int&) {
    auto o = std::make_shared<options>();
    CLI::App* app = command.add_subcommand("report", "show what 'rubato bench' has measured, as tables and as a page");
    app->add_option("FILES", o->files, "files of 'rubato bench'; what is alike in several is put together")->required();
    app->add_option("-o,--output", o->page, "write a page with charts that needs nothing else, such as report.html")
        ->type_name("FILE");
    app->add_flag("--all", o->all, "print every contestant of every case");
    app->add_flag("--json", o->json, "print everything that was computed, times in nanoseconds");
    app->add_option("--reference", o->reference,
                    "one more contestant to compare with, beside the best native, 'native' and the best of ours")
        ->type_name("NAME");
    app->add_option("--model", o->model,
                    "also simulate what was measured under this cost model, compare, and say whom it would choose")
        ->type_name("MODEL");
    app->add_option("--csv", o->csv, "write a row per sample and rank, of every stage")->type_name("FILE");
    app->add_option("--repro", o->repro, "write the measured samples as ReproMPI's verbose table")->type_name("FILE");
    app->footer(
        "Run time: from the first arrival to the last exit. Tail: from the last arrival on. Elapsed: from a rank's\n"
        "arrival to its exit, mean over the ranks. /Bound: run time as a multiple of what no algorithm can beat. All\n"
        "are medians, in brackets the 95 % interval. Samples in which a rank missed its planned arrival do not count.\n"
        "Ratios compare calls of the same repetition where there are such, and p is that of the signed-rank test.\n"
        "Remarks: few (fewer than 6 samples: the interval is their range), correlated, drifting, unsteady, outliers.\n"
        "A contestant that was dropped after the screening is marked 'screened only' and is compared with nobody.\n"
        "--csv: file, run, collective, bytes, pattern, datatype, op, root, ranks, contestant, segments, stage,\n"
        "repetition, late, rank, host, arrival_ns, exit_ns, predicted_ns, bound_ns, begun_early; times from the "
        "planned\n"
        "start on. --repro: the test is CONTESTANT|PATTERN, errorcode 1 means late, and local times are the common\n"
        "clock's.\n"
        "Examples:\n"
        "  rubato report reduce.jsonl -o report.html\n"
        "  rubato report 8-hosts.jsonl 16-hosts.jsonl --all\n"
        "  rubato report reduce.jsonl --reference reduce/binomial --model file:cluster.model -o report.html\n"
        "  rubato report reduce.jsonl --csv samples.csv");
    app->callback([o] { make(*o); });
}

}  // namespace rubato::cli
