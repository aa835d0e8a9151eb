// rubato schedule: what an algorithm does.
#include "rubato/schedule.hpp"

#include "cli/command.hpp"
#include "cli/schedule_json.hpp"
#include "cli/show_rounds.hpp"
#include "files/output_file.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/arrival.hpp"
#include "rubato/draw.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace rubato::cli {
namespace {

struct options {
    std::string id{};
    problem_options problem{};
    std::int32_t only = -1;
    std::string format = "text";
    std::string file{};
};

std::string show_rounds(const options& o, const algorithm& a, round_maker make, const problem& p) {
    check(a, p);
    const clairvoyant::instance in = clairvoyant::instance_of(p);
    const clairvoyant::rounds r = make(in);
    if (o.only >= 0) {
        const rank me(o.only);
        return to_string(clairvoyant::schedules_of(p, r, std::span(&me, 1)).front());
    }
    if (o.format == "json") return rounds_to_json(a, p, r);
    return o.format == "svg" ? clairvoyant::draw(a.id, in, r) : rounds_to_text(a, p, r);
}

std::string show(const options& o) {
    const algorithm& a = find_algorithm(o.id);
    problem p = o.problem.make(a.what);
    p.arrivals = parse_arrivals(o.problem.arrivals, p.ranks);
    if (o.only >= p.ranks)
        throw error(fmt::format("rank {}", o.only), fmt::format("ranks are numbered 0 to {}", p.ranks - 1),
                    "give one of them");
    if (o.only >= 0 && o.format != "text")
        throw error(fmt::format("--rank with --format {}", o.format), "the steps of one rank are shown as text",
                    "leave one of them away");
    if (const round_maker make = rounds_of(a)) return show_rounds(o, a, make, p);
    if (o.only >= 0) return to_string(build_one(a, p, rank(o.only)));
    const std::vector<schedule> all = build_all(a, p);
    if (o.format == "json") return schedules_to_json(a.id, p, all).dump() + '\n';
    const drawing d{a.id, p, all};
    return o.format == "svg" ? draw_svg(d) : draw_text(d);
}

}  // namespace

void add_schedule(CLI::App& command, int&) {
    auto o = std::make_shared<options>();
    CLI::App* app = command.add_subcommand("schedule", "show what an algorithm does: who talks to whom when");
    app->add_option("ID", o->id, "the algorithm, such as reduce/binomial")->required();
    o->problem.add_to(*app);
    add_integer(*app, "--rank", o->only, "rank", 0, (1 << 20) - 1,
                "only the steps of this rank, with what each waits for");
    app->add_option("--format", o->format, "text, json or svg")
        ->check(CLI::IsMember({"text", "json", "svg"}))
        ->type_name("FORMAT");
    app->add_flag_callback(
        "--json", [o] { o->format = "json"; }, "the same as --format json");
    app->add_option("-o,--output", o->file, "write to this file")->type_name("FILE");
    app->footer(
        "A round is the time of one message: in it a rank sends one and receives one, in the order of its steps.\n"
        "2<-3:1 means that rank 2 receives block 1 from rank 3.\n"
        "Algorithms that plan in rounds show these: as JSON an array of transfers for each, with {\"skip\":K} for more "
        "than\n"
        "64 idle ones; as SVG who holds what when. If arrivals differ, they need --round-time.\n"
        "Arrivals are a PATTERN as 'rubato sim --help' lists them, or a time for each rank; ns unless a unit is "
        "given.\n"
        "Examples:\n"
        "  rubato schedule reduce/binomial --ranks 8\n"
        "  rubato schedule bcast/binomial --ranks 16 --root 5 --format svg -o bcast.svg\n"
        "  rubato schedule reduce/binomial --ranks 6 --rank 0 --noncommutative\n"
        "  rubato schedule reduce/clairvoyant --ranks 4 --segments 4 --arrivals 0,0,0,1100 --round-time 1000 --json\n"
        "  rubato schedule reduce/clairvoyant --ranks 4 --segments 4 --arrivals 0,0,0,6us --round-time 1us --format "
        "svg -o "
        "a.svg");
    app->callback([o] {
        if (o->file.empty()) return write_out(show(*o));
        const files::output_file out(o->file);
        out.write(show(*o));
    });
}

}  // namespace rubato::cli
