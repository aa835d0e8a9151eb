// rubato sim: how long would it take?
#include "cli/command.hpp"
#include "cli/parallel.hpp"
#include "files/output_file.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/arrival.hpp"
#include "rubato/cost.hpp"
#include "rubato/draw.hpp"
#include "rubato/simulate.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>

namespace rubato::cli {
namespace {

constexpr std::uint32_t most_segments = 1024;

struct options {
    std::string what{};
    problem_options problem{};
    std::string bytes{};
    std::string model_text = "curie";
    std::string inside_text{};
    bool json = false;
    std::string svg{};
};

/// What all algorithms are compared on.
struct setting {
    model network{};
    std::optional<model> inside{};  ///< of messages within a host
    problem common{};               ///< with arrivals
    std::int64_t chunk = 0;
    bool choose_segments = false;
};

struct row {
    const algorithm* a = nullptr;
    std::optional<std::string> skipped{};
    problem p{};  ///< with what this algorithm was given
    std::vector<time_ns> exits{};
    time_ns run{};
    time_ns tail{};
    time_ns absorption{};
    cost counted{};
    double joules = 0;
    std::int64_t memory = 0;
};

std::vector<const algorithm*> choose(const std::string& what) {
    const std::string_view text = what;
    const std::size_t slash = text.find('/');
    std::vector<const algorithm*> chosen;
    if (slash == std::string_view::npos) {
        const collective c = parse_collective(text);
        for (const algorithm& a : algorithms())
            if (a.what == c) chosen.push_back(&a);
        if (chosen.empty())
            throw error(fmt::format("nothing to simulate for {}", text), "no algorithm is registered for it",
                        "'rubato algorithms' lists those there are");
        return chosen;
    }
    std::string_view names = text.substr(slash + 1);
    for (;;) {
        const std::string_view name = names.substr(0, names.find(','));
        chosen.push_back(&find_algorithm(fmt::format("{}/{}", text.substr(0, slash), name)));
        if (name.size() == names.size()) return chosen;
        names.remove_prefix(name.size() + 1);
    }
}

simulation run(const setting& s, const algorithm& a, const std::vector<schedule>& all, const problem& p,
               bool record_steps = false) {
    const layout sizes = layout::uniform(s.chunk);
    return simulate(s.network, all, std::span(&sizes, 1), p.arrivals,
                    {record_steps, a.early, p.hosts, s.inside ? &*s.inside : nullptr});
}

/// The run time if all arrive together.
time_ns balanced_time(const setting& s, const algorithm& a, problem p) {
    std::ranges::fill(p.arrivals, time_ns{});
    return run_time(p.arrivals, run(s, a, build_all(a, p), p).exits);
}

/// The power of two that is fastest when all arrive together. Stops where more segments have become much slower, or
/// so many steps that they take long to simulate.
std::uint32_t best_segments(const setting& s, const algorithm& a, problem p) {
    constexpr std::size_t most_steps = 4'000'000;
    std::uint32_t best = 1;
    time_ns fastest = time_ns::max();
    for (p.segments = 1; p.segments <= most_segments && p.segments <= std::max<std::int64_t>(s.chunk, 1);
         p.segments *= 2) {
        const std::size_t steps = build_one(a, p, p.root).steps.size() * static_cast<std::size_t>(p.ranks);
        if (p.segments > 1 && steps > most_steps) break;
        const time_ns t = balanced_time(s, a, p);
        if (t < fastest) {
            fastest = t;
            best = p.segments;
        }
        if (t > 2 * fastest) break;
    }
    return best;
}

/// Algorithms that plan in rounds get the segments and the time of a round that the paper's formula gives.
problem problem_of(const setting& s, const algorithm& a) {
    problem p = s.common;
    if (!a.segmented) p.segments = 1;
    if (!a.uses_round_time()) return p;
    if (a.segmented && s.choose_segments) p.segments = optimal_segments(s.network, p.ranks, s.chunk);
    if (p.round_time == time_ns{}) p.round_time = segment_time(s.network, part_offset(s.chunk, p.segments, 1));
    return p;
}

row measure(const setting& s, const algorithm& a, problem p) {
    row result;
    if (a.segmented && s.choose_segments && !a.has(need::round_time)) p.segments = best_segments(s, a, p);
    const std::vector<schedule> all = build_all(a, p);
    const layout sizes = layout::uniform(s.chunk);
    result.exits = run(s, a, all, p).exits;
    result.run = run_time(p.arrivals, result.exits);
    result.tail = tail(p.arrivals, result.exits);
    result.absorption = absorption(balanced_time(s, a, p), result.run, absolute_imbalance(p.arrivals));
    result.counted = count_cost(all, std::span(&sizes, 1));
    result.joules = energy(s.network, result.counted, result.run);
    result.memory = descriptor_memory(s.network, result.counted);
    result.p = std::move(p);
    return result;
}

/// An algorithm that cannot do this is left out; the others can still be compared.
row try_one(const setting& s, const algorithm& a) {
    row result;
    const problem p = problem_of(s, a);
    result.skipped = unmet_need(a, p);
    if (!result.skipped) {
        try {
            result = measure(s, a, p);
        } catch (const error& e) {
            result.skipped = e.what();
        }
    }
    result.a = &a;
    return result;
}

std::string format_energy(double joules) {
    if (joules < 1e-3) return fmt::format("{:.2f} uJ", joules * 1e6);
    if (joules < 1) return fmt::format("{:.2f} mJ", joules * 1e3);
    return fmt::format("{:.2f} J", joules);
}

std::string as_text(const std::vector<row>& rows, const std::string& heading) {
    std::vector<std::vector<std::string>> lines{{"ALGORITHM", "RUN TIME", "TAIL", "ABSORPTION", "ROUNDS", "MESSAGES",
                                                 "BYTES SENT", "ENERGY", "MEMORY", "SEGMENTS"}};
    std::string below;
    for (const row& r : rows) {
        if (r.skipped)
            below += fmt::format("{} skipped: {}\n", r.a->id, *r.skipped);
        else
            lines.push_back({std::string(r.a->id), format_time(r.run), format_time(r.tail), format_time(r.absorption),
                             fmt::format("{}", r.counted.rounds), fmt::format("{}", r.counted.messages),
                             format_bytes(r.counted.bytes), format_energy(r.joules), format_bytes(r.memory),
                             fmt::format("{}", r.p.segments)});
    }
    std::string out = heading + "\n\n";
    if (lines.size() > 1) out += align(lines, {false, true, true, true, true, true, true, true, true, true});
    if (!below.empty()) out += (lines.size() > 1 ? "\n" : "") + below;
    return out;
}

std::string as_json(const std::vector<row>& rows) {
    auto out = nlohmann::ordered_json::array();
    for (const row& r : rows) {
        if (r.skipped) {
            out.push_back({{"id", r.a->id}, {"skipped", *r.skipped}});
            continue;
        }
        auto exits = nlohmann::ordered_json::array();
        for (const time_ns t : r.exits) exits.push_back(t.count());
        out.push_back({{"id", r.a->id},
                       {"run_time_ns", r.run.count()},
                       {"tail_ns", r.tail.count()},
                       {"absorption_ns", r.absorption.count()},
                       {"exit_ns", std::move(exits)},
                       {"rounds", r.counted.rounds},
                       {"messages", r.counted.messages},
                       {"bytes", r.counted.bytes},
                       {"energy_j", r.joules},
                       {"memory_bytes", r.memory},
                       {"segments", r.p.segments}});
        if (r.a->uses_round_time()) out.back()["round_time_ns"] = r.p.round_time.count();
    }
    return out.dump(2) + '\n';
}

/// One algorithm in time and space, or several side by side.
std::string as_svg(const setting& s, const std::vector<row>& rows, const std::string& heading) {
    std::vector<bar> bars;
    for (const row& r : rows)
        if (!r.skipped) bars.push_back({std::string(r.a->id), r.run, r.tail});
    if (bars.size() != 1)
        return draw_bars(fmt::format("{}: run time", traits(s.common.what).name),
                         fmt::format("{} ranks, {}", s.common.ranks, heading), bars);
    const row& only = *std::ranges::find_if(rows, [](const row& r) { return !r.skipped; });
    const std::vector<schedule> all = build_all(*only.a, only.p);
    const simulation sim = run(s, *only.a, all, only.p, true);
    return draw_svg({only.a->id, only.p, all, sim.steps, only.p.arrivals, heading});
}

std::string describe(const options& o) {
    const std::string hosts = o.problem.hosts.empty() ? "" : fmt::format("hosts {}, ", o.problem.hosts);
    const std::string inside = o.inside_text.empty() ? "" : fmt::format(", inside hosts {}", o.inside_text);
    return fmt::format("{}{}arrivals {}, model {}{}", o.bytes.empty() ? "" : o.bytes + ", ", hosts,
                       abbreviated(o.problem.arrivals), o.model_text, inside);
}

void simulate_all(const options& o) {
    const files::output_file picture(o.svg);
    const std::vector<const algorithm*> chosen = choose(o.what);
    setting s;
    s.common = o.problem.make(chosen.front()->what);
    s.common.arrivals = parse_arrivals(o.problem.arrivals, s.common.ranks);
    s.network = parse_model(o.model_text);
    if (!o.inside_text.empty()) {
        if (s.common.hosts.empty())
            throw error("--model-inside without --hosts", "each rank has a host of its own",
                        "say which ranks share one");
        s.inside = parse_model(o.inside_text);
        if (s.inside->network.index() != s.network.network.index())
            throw error("--model-inside is of another kind than --model", "messages cost the same kind of things",
                        "give two of the same kind, such as hockney:...");
    }
    s.chunk = chunk_of(size_of(o.bytes, s.common.what), s.common);
    s.choose_segments = o.problem.segments == 0;

    std::vector<row> rows(chosen.size());
    for_each_in_parallel(chosen.size(), "simulated", [&](std::size_t i) { rows[i] = try_one(s, *chosen[i]); });
    std::ranges::stable_sort(rows, {}, [](const row& r) { return std::pair(r.skipped.has_value(), r.run); });

    const std::string heading = describe(o);
    if (!o.svg.empty()) picture.write(as_svg(s, rows, heading));
    write_out(
        o.json ? as_json(rows)
               : as_text(rows, fmt::format("{}: {} ranks, {}", traits(s.common.what).name, s.common.ranks, heading)));
}

}  // namespace

void add_sim(CLI::App& command, int&) {
    auto o = std::make_shared<options>();
    CLI::App* app = command.add_subcommand("sim", "simulate algorithms under a cost model and arrival pattern");
    app->add_option("ALGORITHMS", o->what, "a collective, or some of its algorithms: reduce, reduce/binomial,ring")
        ->required();
    o->problem.add_to(*app);
    app->add_option("-b,--bytes", o->bytes, "size of the vector, or of the buffer that has a chunk for each rank")
        ->type_name("SIZE");
    app->add_option("--model", o->model_text,
                    "cost model: a preset, file:NAME, or for instance hockney:alpha=2us,beta=0.5ns,gamma=0")
        ->type_name("MODEL");
    app->add_option("--model-inside", o->inside_text,
                    "cost model of messages within a host, of the same kind; the same as --model unless given")
        ->type_name("MODEL");
    app->add_flag("--json", o->json, "print an array with an object per algorithm");
    app->add_option("--svg", o->svg, "also draw: one algorithm in time and space, or a comparison of several")
        ->type_name("FILE");
    std::string names;
    for (const preset& p : presets()) names += fmt::format("{}{}", names.empty() ? "" : ", ", p.name);
    app->footer(fmt::format(
        "Run time: from the first arrival to the last exit. Tail: from the last arrival on. Absorption: how much of "
        "the\n"
        "spread of arrivals does not show in the run time. Fastest first.\n"
        "--bytes is the size of the vector of bcast, reduce, allreduce, scan and exscan. In the other collectives "
        "some\n"
        "ranks have a buffer with a chunk for each rank: it is the size of that, and a chunk is --bytes / --ranks,\n"
        "rounded up.\n"
        "Without --segments, algorithms that cut vectors get the power of two from 1 to {} that is fastest when all\n"
        "arrive together. Irregular collectives are simulated with equal chunks. Arrival-aware algorithms are told "
        "the\n"
        "true arrivals. Those that plan in rounds (reduce/clairvoyant) get, unless given, N = sqrt((ceil(log2 P) - 1) "
        "m\n"
        "(beta + gamma) / alpha) segments of m bytes in all, and --round-time alpha + m/N (beta + gamma), of the "
        "model.\n"
        "Early forms (bcast/binomial+early) begin on every rank when the first one arrives; only what needs a rank's "
        "own\n"
        "data waits for that rank.\n"
        "Models: {}; curie unless given. 'rubato loggp' measures your network's and writes it to a file;\n"
        "file:NAME takes the first model of it, file:NAME,hockney the other.\n"
        "Arrivals: balanced (unless given), single:rank=R,delay=T, alternating:even=T,odd=T, uniform:max=T,seed=N,\n"
        "normal:mean=T,sd=T,seed=N, gamma:shape=X,scale=T,seed=N, bernoulli:p=X,delay=T,seed=N, trace:FILE, or a time\n"
        "for each rank, such as 0,0,5ms,0.\n"
        "Examples:\n"
        "  rubato sim reduce --ranks 16 --bytes 4MiB --arrivals single:rank=5,delay=10ms\n"
        "  rubato sim bcast/binomial --ranks 8 --bytes 64KiB --svg bcast.svg\n"
        "  rubato sim reduce --ranks 16 --bytes 4MiB --hosts 4 --model-inside hockney:alpha=500ns,beta=0.1ns,gamma=0\n"
        "  rubato sim alltoall --ranks 64 --bytes 1MiB --model loggp:L=2us,o=1us,g=1us,G=0.5ns --json",
        most_segments, names));
    app->callback([o] { simulate_all(*o); });
}

}  // namespace rubato::cli
