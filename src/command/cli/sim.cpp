// rubato sim: how long would it take?
#include "base/core/text.hpp"
#include "base/files/output_file.hpp"
#include "command/cli/parallel.hpp"
#include "command/cli/sim_program.hpp"
#include "command/cli/sim_rows.hpp"
#include "rubato/arrival.hpp"
#include "rubato/choose.hpp"
#include "rubato/draw.hpp"
#include "simulator/simulate/at_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <tuple>

namespace rubato::command {
namespace {

constexpr std::uint32_t most_segments = 1024;
constexpr double sharing_factor = 20;
constexpr double most_drawn = 1e5;  // steps; a picture of more is too large for its viewers

struct sim_options {
    std::string what{};
    problem_options problem{};
    std::string bytes{};
    std::string model_text = "curie";
    std::string inside_text{};
    machine_options machine_texts{};
    program_options program{};
    network_options network{};
    bool force = false;
    bool json = false;
    std::string svg{};
};

/// What all algorithms have in common.
struct sim_setting {
    model network{};
    std::optional<model> inside{};  ///< of messages within a host
    problem common{};               ///< with arrivals
    std::int64_t chunk = 0;
    bool choose_segments = false;
    machine on{};
    unsigned cores = 1;                    ///< of one simulation
    std::optional<placed_ranks> cables{};  ///< on which messages meet
};

schedules::shape_table shapes_of(const sim_setting& s, const algorithm& a, const problem& p) {
    const layout sizes = layout::uniform(s.chunk);
    return simulator::shapes_of(a, p, std::span(&sizes, 1));
}

simulation run(const sim_setting& s, const algorithm& a, schedules::shape_table& ranks, const problem& p,
               bool record_steps = false) {
    simulation_options how{record_steps, a.early, p.hosts, s.inside ? &*s.inside : nullptr};
    s.on.set(how);
    how.cores = s.cores;
    return s.cables ? s.cables->simulate(s.network, ranks, p.arrivals, how)
                    : simulator::simulate(s.network, ranks, p.arrivals, how);
}

/// The run time by a simulation of all ranks.
time_ns simulated_time(const sim_setting& s, const algorithm& a, const problem& p) {
    schedules::shape_table ranks = shapes_of(s, a, p);
    return run_time(p.arrivals, run(s, a, ranks, p).exits);
}

/// To simulate all ranks. Where messages share cables, the rates of all change whenever one begins or ends.
work_estimate work_of(const sim_setting& s, const algorithm& a, const problem& p) {
    work_estimate e = work_to_simulate(a, p);
    if (s.cables) e.ns *= sharing_factor;
    return e;
}

/// An estimate from fewer ranks. Nothing if even these are too many.
std::optional<candidate> from_fewer_ranks(const sim_setting& s, const algorithm& a, const problem& p) {
    if (a.dynamic != nullptr || s.cables) return std::nullopt;
    candidate c;
    c.use = &a;
    c.segments = p.segments;
    c.round_time = p.round_time;
    const std::vector<candidate> found = rubato::choose(p, s.chunk, s.network, {c}, s.inside ? &*s.inside : nullptr);
    if (found.empty()) return std::nullopt;
    return found.front();
}

problem all_together(problem p) {
    std::ranges::fill(p.arrivals, time_ns{});
    return p;
}

/// The power of two that is fastest when all arrive together. Stops where more segments have become much slower.
std::uint32_t best_segments(const sim_setting& s, const algorithm& a, problem p) {
    p = all_together(std::move(p));
    std::uint32_t best = 1;
    time_ns fastest = time_ns::max();
    for (p.segments = 1; p.segments <= most_segments && p.segments <= std::max<std::int64_t>(s.chunk, 1);
         p.segments *= 2) {
        const bool quick = is_quick(work_of(s, a, p));
        const std::optional<candidate> c = quick ? std::nullopt : from_fewer_ranks(s, a, p);
        if (!quick && !c) break;
        const time_ns t = quick ? simulated_time(s, a, p) : c->end;
        if (t < fastest) {
            fastest = t;
            best = p.segments;
        }
        if (t > 2 * fastest) break;
    }
    return best;
}

/// An algorithm that cannot solve the problem is left out; the others can still be compared.
template <class Work>
void try_to(simulated_row& r, Work work) {
    if (r.skipped) return;
    try {
        work();
    } catch (const error& e) {
        r.skipped = e.what();
    }
}

simulated_row prepare(const sim_setting& s, const algorithm& a) {
    simulated_row r;
    r.a = &a;
    r.p = planned(a, s.common, s.network, s.chunk, s.choose_segments);
    r.skipped = unmet_need(a, r.p);
    try_to(r, [&] {
        if (a.segmented && s.choose_segments && !a.has(need::round_time)) r.p.segments = best_segments(s, a, r.p);
        r.takes = work_of(s, a, r.p);
    });
    return r;
}

/// With all ranks.
void simulate_row(const sim_setting& s, simulated_row& r) {
    const algorithm& a = *r.a;
    const time_ns imbalance = absolute_imbalance(r.p.arrivals);
    // Before the schedules for these arrivals are made, so that not both are kept.
    const time_ns balanced = imbalance > time_ns{} ? simulated_time(s, a, all_together(r.p)) : time_ns{};
    details& d = r.all.emplace();
    schedules::shape_table ranks = shapes_of(s, a, r.p);
    d.exits = run(s, a, ranks, r.p).exits;
    r.run = run_time(r.p.arrivals, d.exits);
    r.tail = tail(r.p.arrivals, d.exits);
    if (imbalance > time_ns{}) r.absorption = absorption(balanced, r.run, imbalance);
    d.counted = simulator::count_cost(ranks);
    d.joules = energy(s.network, d.counted, r.run);
    d.memory = descriptor_memory(s.network, d.counted);
}

/// With fewer ranks.
void extrapolate_row(const sim_setting& s, simulated_row& r) {
    if (s.on.is_special() || s.cables) {
        r.skipped = fmt::format("it takes {}, and {} needs all ranks (--force)", to_string(r.takes),
                                s.cables             ? "a network"
                                : s.on.detours.any() ? "noise"
                                                     : "an unequal machine");
        return;
    }
    const std::optional<candidate> c = from_fewer_ranks(s, *r.a, r.p);
    const std::optional<candidate> balanced = from_fewer_ranks(s, *r.a, all_together(r.p));
    if (!c || !balanced) {
        r.skipped = fmt::format("it takes {}, and fewer ranks do not tell what all do", to_string(r.takes));
        return;
    }
    r.run = c->end - std::ranges::min(r.p.arrivals);
    r.tail = c->end - std::ranges::max(r.p.arrivals);
    r.absorption = absorption(balanced->end, r.run, absolute_imbalance(r.p.arrivals));
}

/// One algorithm in time and space, or several side by side.
std::string as_svg(const sim_setting& s, const std::vector<simulated_row>& rows, const std::string& heading) {
    std::vector<bar> bars;
    for (const simulated_row& r : rows)
        if (!r.skipped) bars.push_back({std::string(r.a->id), r.run, r.tail});
    if (bars.size() != 1)
        return draw_bars(fmt::format("{}: run time", traits(s.common.what).name),
                         fmt::format("{}, {}", base::counted(s.common.ranks, "rank"), heading), bars);
    const simulated_row& only = *std::ranges::find_if(rows, [](const simulated_row& r) { return !r.skipped; });
    const std::vector<schedule> all = build_all(*only.a, only.p);
    schedules::shape_table ranks = shapes_of(s, *only.a, only.p);
    const simulation sim = run(s, *only.a, ranks, only.p, true);
    return draw_svg({only.a->id, only.p, all, sim.steps, only.p.arrivals, heading});
}

/// Throws if the table would be empty, or the picture too large to view.
void check_rows(const sim_options& o, const std::vector<simulated_row>& rows) {
    std::vector<const simulated_row*> done;
    for (const simulated_row& r : rows)
        if (!r.skipped) done.push_back(&r);
    if (done.empty() && rows.size() == 1) {
        rubato::check(*rows.front().a, rows.front().p);  // throws if an unmet need is the reason
        throw error(*rows.front().skipped);
    }
    if (done.empty())
        throw error(fmt::format("none of {} algorithms can be simulated", rows.size()),
                    fmt::format("{}: {}", rows.front().a->id, *rows.front().skipped),
                    fmt::format("'rubato algorithms {}' lists what they need", traits(rows.front().a->what).name));
    if (!o.svg.empty() && done.size() == 1 && done.front()->takes.steps > most_drawn)
        throw error(fmt::format("{} is too large to be drawn", done.front()->a->id),
                    fmt::format("it has {:.0f} steps, and {:.0f} can be drawn", done.front()->takes.steps, most_drawn),
                    "give fewer ranks or segments, or leave --svg out");
}

std::string describe(const sim_options& o) {
    const std::string hosts = o.problem.hosts.empty() ? "" : fmt::format("hosts {}, ", o.problem.hosts);
    const std::string inside = o.inside_text.empty() ? "" : fmt::format(", inside hosts {}", o.inside_text);
    return fmt::format("{}{}arrivals {}, model {}{}{}{}", o.bytes.empty() ? "" : o.bytes + ", ", hosts,
                       abbreviated(o.problem.arrivals), o.model_text, inside, o.machine_texts.describe(),
                       o.network.describe());
}

void simulate_all(const CLI::App& app, const sim_options& o) {
    const std::vector<const algorithm*> chosen = parse_algorithms(o.what);
    refuse_unused(app, chosen);
    const base::output_file picture(o.svg);
    sim_setting s;
    s.common = o.problem.make(chosen.front()->what);
    s.common.arrivals = parse_arrivals(o.problem.arrivals, s.common.ranks);
    s.network = parse_model(o.model_text);
    s.cables = o.network.place(s.common);
    s.inside = parse_model_inside(o.inside_text, s.network, s.common);
    s.on = o.machine_texts.make(s.common.ranks);
    if (s.cables) s.on.refuse_on_cables();
    if (s.cables) o.network.put_in_order(s.common, *s.cables);
    s.chunk = chunk_of(size_of(o.bytes, s.common.what), s.common);
    s.choose_segments = o.problem.segments == 0;
    if (chosen.size() == 1) s.cores = std::max(1U, std::thread::hardware_concurrency());

    std::vector<simulated_row> rows(chosen.size());
    for_each_in_parallel(chosen.size(), "looked at", [&](std::size_t i) { rows[i] = prepare(s, *chosen[i]); });
    check_rows(o, rows);
    // The longest first, so that none is left at the end.
    std::ranges::stable_sort(rows, std::ranges::greater{}, [](const simulated_row& r) { return r.takes.ns; });
    std::vector<work_estimate> takes;
    takes.reserve(rows.size());
    for (const simulated_row& r : rows) takes.push_back(r.takes);
    const std::vector<bool> exact = o.force ? std::vector<bool>(rows.size(), true) : affordable(takes);
    std::vector<double> weights;
    for (std::size_t i = 0; i < rows.size(); ++i) weights.push_back(1e8 + (exact[i] ? rows[i].takes.ns : 0));
    for_each_in_parallel(weights, "simulated", [&](std::size_t i) {
        try_to(rows[i], [&] { exact[i] ? simulate_row(s, rows[i]) : extrapolate_row(s, rows[i]); });
    });
    check_rows(o, rows);
    std::ranges::stable_sort(rows, {},
                             [](const simulated_row& r) { return std::tuple(r.skipped.has_value(), r.run, r.a->id); });

    const std::string heading = describe(o);
    if (!o.svg.empty()) picture.write(as_svg(s, rows, heading));
    write_out(o.json ? json_of(rows)
                     : text_of(rows, fmt::format("{}: {}, {}", traits(s.common.what).name,
                                                 base::counted(s.common.ranks, "rank"), heading)));
}

/// Throws if an option was given that is for the other of the two.
void simulate_given(const CLI::App& app, const sim_options& o) {
    if (o.program.file.empty()) {
        refuse_given(app, {"--plan", "--without"}, "without --program", "it is about a program's calls",
                     "give a program, or leave it out");
        if (o.what.empty()) refuse_without("ALGORITHMS");
        if (o.problem.ranks == 0) refuse_without("--ranks");
        return simulate_all(app, o);
    }
    refuse_given(app,
                 {"ALGORITHMS", "--bytes", "--arrivals", "--root", "--segments", "--radix", "--graph", "--round-time",
                  "--noncommutative", "--idempotent", "--force", "--svg"},
                 "with --program", "the program says what is called, and when", "leave one of them out");
    if (!o.network.order.empty())
        throw error("--order with --program", "a program's calls are made for ranks in their own order",
                    "leave one of them out");
    simulate_program(o.program, o.problem.ranks, o.problem.hosts, o.model_text, o.inside_text, o.machine_texts,
                     o.network, o.json);
}

}  // namespace

void add_sim(CLI::App* app, int&) {
    auto o = std::make_shared<sim_options>();
    add_value(*app, "ALGORITHMS", o->what, "", "a collective, or some of its algorithms: reduce, reduce/binomial,ring");
    o->problem.add_to(*app);
    require(*app, "--ranks", false);  // a program may say it
    o->program.add_to(*app);
    add_bytes(*app, o->bytes);
    add_models(*app, o->model_text, o->inside_text);
    o->machine_texts.add_to(*app);
    o->network.add_to(*app);
    add_flag(*app, "--force", o->force, "simulate all ranks, even if that takes minutes or gigabytes");
    add_flag(*app, "--json", o->json, "print an array with an object per algorithm, or an object for a program");
    add_value(*app, "--svg", o->svg, "FILE", "also draw: one algorithm in time and space, or a comparison of several");
    std::vector<std::string_view> names;
    for (const preset& p : presets()) names.emplace_back(p.name);
    add_footer(*app, fmt::format(R"(
Run time: from the first arrival to the last exit. Tail: from the last arrival on. Absorption: how much of the
spread of arrivals does not show in the run time. The fastest algorithm comes first.
--bytes is the size of the vector of bcast, reduce, allreduce, scan and exscan. In the other collectives some
ranks have a buffer with a chunk for each rank: --bytes is the size of that buffer, and a chunk is
--bytes / --ranks, rounded up.
Without --segments, algorithms that cut vectors get the power of two from 1 to {} that is fastest when all
ranks arrive together. Irregular collectives are simulated with equal chunks. Arrival-aware algorithms know
the true arrivals. Algorithms that plan in rounds (reduce/clairvoyant) get N = sqrt((ceil(log2 P) - 1) m
(beta + gamma) / alpha) segments of m bytes in all, and the round time alpha + m/N (beta + gamma), unless
--segments or --round-time say otherwise.
Early forms (bcast/binomial+early) begin on every rank when the first rank arrives; only steps that need a
rank's own data wait for that rank.
Where all ranks together have millions of steps, the time follows from simulations of fewer ranks, and the
table says so.
A program has a statement per line. COLLECTIVE SIZE [root=R], such as allreduce 64KiB, is a call; with
ALGORITHM instead of COLLECTIVE it is done so, and may have segments=N. exchange GRAPH SIZE sends a message
to each neighbour. compute TIME|ARRIVALS ... lets each rank compute: for a time, or one drawn as arrivals
are; several are added. repeat N {{ ... }} repeats lines, ranks N says how many ranks there are, and # begins
a comment.
Models: {}.
'rubato loggp' measures your network and writes its models to a file: file:FILE is the first, and
file:FILE,hockney the other.
Arrivals: balanced, single:rank=R,delay=T, alternating:even=T,odd=T, uniform:max=T,seed=N,
normal:mean=T,sd=T,seed=N, gamma:shape=X,scale=T,seed=N, bernoulli:p=X,delay=T,seed=N, trace:FILE, or a time
for each rank, such as 0,0,5ms,0.
Examples:
  rubato sim reduce --ranks 16 --bytes 4MiB --arrivals single:rank=5,delay=10ms
  rubato sim bcast/binomial --ranks 8 --bytes 64KiB --svg bcast.svg
  rubato sim reduce --ranks 16 --bytes 4MiB --hosts 4 --model-inside hockney:alpha=500ns,beta=0.1ns,gamma=0
  rubato sim alltoall --ranks 16 --bytes 1MiB --network fattree:crossbar=8,ports=16 --routing modulo
  rubato sim allreduce --ranks 16 --bytes 1MiB --network fattree:crossbar=8,ports=16 --mapping random:1 --order network
  rubato sim alltoall --ranks 64 --bytes 1MiB --model loggp:L=2us,o=1us,g=1us,G=0.5ns --json
  rubato sim allreduce --ranks 16 --bytes 64KiB --model gige --slow rank=3,factor=2 --slow link=5,factor=10
  rubato sim allgather --ranks 16 --bytes 1MiB --model gige --hosts 4 --share-links
  rubato sim --program examples/stencil.program --model gige --plan allreduce/ring --without slowest
  rubato sim --program examples/stencil.program --model gige --network torus:4x4 --mapping random:1
  rubato sim --program solver.rubato --model gige --plan allreduce/recursive_doubling)",
                                 most_segments, fmt::join(names, ", ")));
    when_called(*app, [o, app] { simulate_given(*app, *o); });
}

}  // namespace rubato::command
