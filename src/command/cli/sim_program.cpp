#include "command/cli/sim_program.hpp"

#include "base/core/text.hpp"
#include "command/cli/columns.hpp"
#include "dropin/observe/observation.hpp"
#include "reports/exports/trace.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <thread>
#include <utility>

namespace rubato::command {
namespace {

/// A program that was observed, as far as its calls were kept.
struct observed_program {
    simulator::program what{};
    time_ns took{};           ///< from the first arrival to the last exit that were kept
    std::uint64_t calls = 0;  ///< that it made
    std::uint64_t replayed = 0;
};

struct program_result {
    std::string title{};
    simulator::program what{};
    std::optional<observed_program> seen{};  ///< without its program
    simulator::played_program played{};
    std::optional<std::size_t> evened{};  ///< the rank
    std::optional<time_ns> bound{};       ///< where all links are alike: no algorithms can end earlier

    time_ns run_time() const { return std::ranges::max(played.exits); }
};

std::string bytes_text(const simulator::program_call& c) {
    return traits(c.what).moves_data() ? format_bytes(c.chunk) : "-";
}

/// A row per call of the program.
columns<std::size_t> columns_of(const program_result& r) {
    const auto played = [&r](auto what) { return [&r, what](std::size_t i) { return r.played.calls[i].*what; }; };
    return {
        {"CALL", "place", [&r](std::size_t i) { return r.what.calls[i].place; }},
        {"ALGORITHM", "id", played(&simulator::played_call::id)},
        {">CHUNK", "chunk_bytes",
         [&r](std::size_t i) { return cell(bytes_text(r.what.calls[i]), r.what.calls[i].chunk); }},
        {">SEGMENTS", "segments",
         [&r](std::size_t i) {
             const simulator::played_call& c = r.played.calls[i];
             return cell(find_algorithm(c.id).segmented ? fmt::format("{}", c.segments) : "-", c.segments);
         }},
        {">TIMES", "count", played(&simulator::played_call::count)},
        {">IMBALANCE", "imbalance_ns", played(&simulator::played_call::imbalance)},
        {">RUN TIME", "run_time_ns", played(&simulator::played_call::run_time)},
        {">TAIL", "tail_ns", played(&simulator::played_call::tail)},
    };
}

std::string as_text(const program_result& r) {
    const simulator::played_program& p = r.played;
    const std::vector<time_ns>& busy = p.computing;
    const auto [least, most] = std::ranges::minmax_element(busy);
    const time_ns mean = std::accumulate(busy.begin(), busy.end(), time_ns{}) / static_cast<std::int64_t>(busy.size());
    std::string out = fmt::format("{}\n\nrun time   {}\n", r.title, format_time(r.run_time()));
    if (r.bound)
        out += fmt::format("bound      {}; the run takes {:.2f} times as long\n", format_time(*r.bound),
                           static_cast<double>(r.run_time().count()) /
                               static_cast<double>(std::max(r.bound->count(), std::int64_t{1})));
    if (r.seen)
        out += fmt::format("observed   {}; {} of {} calls were kept, the time of the others counts as computing\n",
                           format_time(r.seen->took), r.seen->replayed, r.seen->calls);
    out += fmt::format("computing  {} on average, from {} (rank {}) to {} (rank {})\n", format_time(mean),
                       format_time(*least), least - busy.begin(), format_time(*most), most - busy.begin());
    if (r.evened) out += fmt::format("rank {} computes as long as the median of the others\n", *r.evened);
    return out + '\n' + as_table(columns_of(r), numbers_to(p.calls.size()));
}

std::string as_json(const program_result& r) {
    base::json out{{"ranks", r.what.ranks}, {"run_time_ns", r.run_time()}};
    if (r.bound) out["bound_ns"] = *r.bound;
    if (r.seen)
        out.update(
            {{"observed_ns", r.seen->took}, {"observed_calls", r.seen->calls}, {"replayed_calls", r.seen->replayed}});
    out.update({{"messages", r.played.messages},
                {"computing_ns", r.played.computing},
                {"exit_ns", r.played.exits},
                {"calls", as_array(columns_of(r), numbers_to(r.played.calls.size()))}});
    return pretty(out);
}

/// The ranks that there are then take the times of those that there were, in turn.
void change_ranks(simulator::program& p, std::int32_t ranks, const std::string& file) {
    for (simulator::program_call& c : p.calls) {
        if (!c.members.empty())
            throw error(fmt::format("'{}' with {} ranks", file, ranks),
                        "some of its communicators have only a part of the ranks",
                        fmt::format("leave --ranks out, or give {}", p.ranks));
        c.root.value %= ranks;
    }
    for (simulator::program_event& e : p.events) {
        const std::vector<time_ns> were = std::exchange(e.computing, {});
        for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) e.computing.push_back(were[r % were.size()]);
    }
    p.ranks = ranks;
}

/// `ranks` 0: those that there were. Throws if the file has too little.
observed_program read_observed_program(const std::string& file, std::int32_t ranks) {
    reports::replay seen = reports::replay_of(reports::read_trace(file), file);
    observed_program made{std::move(seen.what), seen.took};
    made.replayed = made.what.events.size();
    for (const dropin::row& r : dropin::read(file).rows) made.calls += r.calls;
    if (ranks > 0 && ranks != made.what.ranks) change_ranks(made.what, ranks, file);
    return made;
}

program_result read(const std::string& file, std::int32_t ranks) {
    program_result r;
    if (dropin::is_observation(file)) {
        r.seen = read_observed_program(file, ranks);
        r.what = std::move(r.seen->what);
    } else {
        r.what = simulator::read_program(file, ranks);
    }
    return r;
}

}  // namespace

simulator::program read_any_program(const std::string& file, std::int32_t ranks) { return read(file, ranks).what; }

simulator::program_plan plan_for(const simulator::program& p, const std::string& text) {
    simulator::program_plan plan;
    if (text.empty()) return plan;
    std::set<collective> open;
    for (const simulator::program_call& c : p.calls)
        if (c.use == nullptr) open.insert(c.what);
    for (const std::string& id : split_lists({text})) {
        const algorithm& a = find_algorithm(id);
        if (!plan.emplace(a.what, &a).second)
            throw error(fmt::format("--plan {}", text),
                        fmt::format("it names two algorithms of {}", traits(a.what).name),
                        "give one for each collective");
    }
    for (const auto& [what, use] : plan)
        if (!open.contains(what))
            throw error(fmt::format("--plan with {}", use->id),
                        fmt::format("the program has no {} of which it does not name the algorithm", traits(what).name),
                        "leave it out");
    return plan;
}

void program_options::add_to(CLI::App& app) {
    add_value(app, "--program", file, "FILE",
              "simulate a program instead of one call: a text, or a file of 'rubato exec'");
    add_value(app, "--plan", plan, "ID[,ID...]",
              "the program's algorithms, such as allreduce/ring,bcast/chain (default: what suits the network)");
    add_value(app, "--without", without, "RANK|slowest",
              "let this rank of the program, or the slowest, compute as long as the others");
}

void simulate_program(const program_options& o, std::int32_t ranks, const std::string& hosts,
                      const std::string& model_text, const std::string& inside_text,
                      const machine_options& machine_texts, const network_options& on_cables, bool json) {
    program_result r = read(o.file, ranks);
    if (!o.without.empty()) {
        r.evened = o.without == "slowest"
                       ? simulator::slowest_rank(r.what)
                       : static_cast<std::size_t>(parse_integer(o.without, "rank", 0, r.what.ranks - 1));
        simulator::even_out(r.what, *r.evened);
    }
    const simulator::program_plan plan = plan_for(r.what, o.plan);
    const model network = parse_model(model_text);
    problem on_hosts;
    on_hosts.ranks = r.what.ranks;
    on_hosts.hosts = parse_hosts(hosts, r.what.ranks);
    const std::optional<placed_ranks> cables = on_cables.place(on_hosts);
    const std::optional<model> inside = parse_model_inside(inside_text, network, on_hosts);
    const machine on = machine_texts.make(r.what.ranks);
    simulator::program_simulator by;
    if (cables) {
        on.refuse_on_cables();
        by = [&](schedules::shape_table& all, std::span<const time_ns> arrivals, const simulation_options& options) {
            return cables->simulate(network, all, arrivals, options);
        };
    }
    simulation_options how;
    how.hosts = on_hosts.hosts;
    how.inside = inside ? &*inside : nullptr;
    how.cores = std::max(1U, std::thread::hardware_concurrency());
    on.set(how);
    r.played = simulator::play(r.what, network, plan, how, by);
    if (!cables && !inside) {
        // Without latency, which does not occupy a link in some models.
        r.bound = simulator::earliest_end(r.what, {time_ns{}, linear_costs(network).beta});
    }
    r.title = fmt::format("{}: {}{}, {}, {}, model {}{}", o.file, base::counted(r.what.ranks, "rank"),
                          hosts.empty() ? "" : fmt::format(", hosts {}", hosts),
                          base::counted(r.what.events.size(), "call"), base::counted(r.played.messages, "message"),
                          model_text, machine_texts.describe() + on_cables.describe());
    write_out(json ? as_json(r) : as_text(r));
}

}  // namespace rubato::command
