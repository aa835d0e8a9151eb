// rubato schedule: what an algorithm does.

#include "base/files/output_file.hpp"
#include "command/cli/command.hpp"
#include "command/cli/show_schedules.hpp"
#include "command/cli/work_estimate.hpp"
#include "rubato/arrival.hpp"
#include "rubato/draw.hpp"

#include <fmt/format.h>

#include <memory>

namespace rubato::command {
namespace {

struct schedule_options {
    std::string id{};
    problem_options problem{};
    std::int32_t only = -1;
    std::string format{};
    bool json = false;
    bool force = false;
    std::string file{};
};

constexpr step_cost to_list{1'000, 300};  // as text
constexpr step_cost to_draw{3'000, 250};
constexpr step_cost to_write{10'000, 1'050};
constexpr step_cost to_show_rounds{300, 40};

/// Throws if showing it would take minutes or gigabytes.
void check_size(const schedule_options& o, const algorithm& a, const problem& p) {
    const simulator::step_counts n = simulator::expected_steps(a, p);
    const std::string what = fmt::format("{} with {} ranks", a.id, p.ranks);
    if (o.only >= 0) {
        // One computation may plan for all ranks; it is about ten times as fast as simulating all their steps.
        const double planning = a.build_some != nullptr ? n.all / 10 : 0;
        return refuse_large(what, {{n.most, n.most, planning}, to_list}, "give fewer ranks or segments, or --force");
    }
    const bool rounds = rounds_of(a) != nullptr;
    refuse_large(what,
                 rounds ? work_estimate({n.most, n.all, n.planning}, to_show_rounds)  // which makes no schedules
                        : work_estimate(n, o.format == "json" ? to_write : to_draw),
                 "give fewer ranks or segments, --rank N for the steps of one rank, or --force");
}

/// Throws if an option was given that changes nothing.
void check_options(const CLI::App& app, const algorithm& a) {
    const algorithm* const chosen = &a;
    refuse_unused(app, std::span(&chosen, 1));
    if (is_given(app, "--arrivals") && !a.arrival_aware)
        throw error("--arrivals has no effect", fmt::format("{} does not plan by arrivals", a.id),
                    "leave it out; 'rubato sim' shows what arrivals do to it");
}

std::string show_rounds(const schedule_options& o, const algorithm& a, round_maker make, const problem& p) {
    rubato::check(a, p);
    const schedules::instance in = schedules::instance_of(p);
    const schedules::rounds r = make(in);
    if (o.only >= 0) {
        const rank me(o.only);
        return rubato::to_string(schedules::schedules_of(p, r, std::span(&me, 1)).front());
    }
    if (o.format == "json") return rounds_to_json(a, p, r);
    return o.format == "svg" ? schedules::draw(a.id, in, r) : rounds_to_text(a, p, r);
}

std::string show(const CLI::App& app, schedule_options o) {
    const algorithm& a = find_algorithm(o.id);
    check_options(app, a);
    o.format = chosen_format(app, o.format, o.json);
    problem p = o.problem.make(a.what);
    p.arrivals = parse_arrivals(o.problem.arrivals, p.ranks);
    if (o.only >= p.ranks)
        throw error(fmt::format("rank {}", o.only), fmt::format("ranks are numbered 0 to {}", p.ranks - 1),
                    "give one of them");
    if (o.only >= 0 && o.format != "text")
        throw error(fmt::format("--rank with --format {}", o.format), "the steps of one rank are shown as text",
                    "leave one of them out");
    if (!o.force) check_size(o, a, p);
    if (const round_maker make = rounds_of(a)) return show_rounds(o, a, make, p);
    if (o.only >= 0) return rubato::to_string(build_one(a, p, rank(o.only)));
    const std::vector<schedule> all = build_all(a, p);
    if (o.format == "json") return schedules_to_json(a.id, p, all).dump() + '\n';
    const drawing d{a.id, p, all};
    return o.format == "svg" ? draw_svg(d) : draw_text(d);
}

}  // namespace

void add_schedule(CLI::App* app, int&) {
    auto o = std::make_shared<schedule_options>();
    require(add_value(*app, "ID", o->id, "", "the algorithm, such as reduce/binomial"));
    o->problem.add_to(*app);
    add_integer(*app, "--rank", o->only, "rank", 0, (1 << 20) - 1,
                "only the steps of this rank, with what each waits for");
    add_format(*app, o->format, o->json, {"text", "json", "svg"});
    add_flag(*app, "--force", o->force, "show it even if that takes minutes or gigabytes");
    add_value(*app, "-o,--output", o->file, "FILE", "write to this file (default: standard output)");
    add_footer(*app, R"(
A round is the time of one message: in a round a rank sends one message and receives one, in the order of its
steps. 2<-3:1 means that rank 2 receives block 1 from rank 3.
Algorithms that plan in rounds show their rounds: JSON has an array of transfers for each round, and
{"skip":N} for N idle rounds if N is above 64; SVG shows which rank holds what and when. If arrivals differ,
they need --round-time.
'rubato help sim' lists the arrival patterns. Times are in ns unless they have a unit.
Examples:
  rubato schedule reduce/binomial --ranks 8
  rubato schedule bcast/binomial --ranks 16 --root 5 --format svg -o bcast.svg
  rubato schedule reduce/binomial --ranks 6 --rank 0 --noncommutative
  rubato schedule reduce/clairvoyant --ranks 4 --segments 4 --arrivals 0,0,0,1100 --round-time 1000 --json
  rubato schedule reduce/clairvoyant --ranks 4 --segments 4 --arrivals 0,0,0,6us --round-time 1us --format svg -o a.svg)");
    when_called(*app, [o, app] {
        if (o->file.empty()) return write_out(show(*app, *o));
        const base::output_file out(o->file);
        out.write(show(*app, *o));
    });
}

}  // namespace rubato::command
