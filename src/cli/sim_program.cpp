#include "cli/sim_program.hpp"

#include "core/text.hpp"
#include "observe/observation.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <thread>

namespace rubato::cli {
namespace {

struct program_result {
    std::string title{};
    program what{};
    std::optional<observed_program> seen{};  ///< without its program
    played_program played{};
    std::optional<std::size_t> evened{};  ///< the rank

    time_ns run_time() const { return std::ranges::max(played.exits); }
};

std::string bytes_text(const program_call& c) { return traits(c.what).moves_data() ? format_bytes(c.chunk) : "-"; }

std::string as_text(const program_result& r) {
    const played_program& p = r.played;
    const std::vector<time_ns>& busy = p.computing;
    const auto [least, most] = std::ranges::minmax_element(busy);
    const time_ns mean = std::accumulate(busy.begin(), busy.end(), time_ns{}) / static_cast<std::int64_t>(busy.size());
    std::string out = fmt::format("{}\n\nrun time   {}\n", r.title, format_time(r.run_time()));
    if (r.seen)
        out += fmt::format("observed   {}; {} of {} calls were kept, the time of the others counts as computing\n",
                           format_time(r.seen->took), r.seen->replayed, r.seen->calls);
    out += fmt::format("computing  {} on average, from {} (rank {}) to {} (rank {})\n", format_time(mean),
                       format_time(*least), least - busy.begin(), format_time(*most), most - busy.begin());
    if (r.evened) out += fmt::format("rank {} computes as long as the median of the others\n", *r.evened);
    table lines{{"CALL", "ALGORITHM", "CHUNK", "SEGMENTS", "TIMES", "IMBALANCE", "RUN TIME", "TAIL"}};
    for (std::size_t i = 0; i < p.calls.size(); ++i) {
        const played_call& c = p.calls[i];
        lines.push_back({r.what.calls[i].place, std::string(c.id), bytes_text(r.what.calls[i]),
                         find_algorithm(c.id).segmented ? fmt::format("{}", c.segments) : "-",
                         fmt::format("{}", c.count), format_time(c.imbalance), format_time(c.run_time),
                         format_time(c.tail)});
    }
    return out + '\n' + align(lines, {false, false, true, true, true, true, true, true});
}

std::string as_json(const program_result& r) {
    using nlohmann::ordered_json;
    const auto counts = [](const std::vector<time_ns>& times) {
        auto list = ordered_json::array();
        for (const time_ns t : times) list.push_back(t.count());
        return list;
    };
    auto calls = ordered_json::array();
    for (std::size_t i = 0; i < r.played.calls.size(); ++i) {
        const played_call& c = r.played.calls[i];
        calls.push_back({{"place", r.what.calls[i].place},
                         {"id", c.id},
                         {"chunk_bytes", r.what.calls[i].chunk},
                         {"segments", c.segments},
                         {"count", c.count},
                         {"imbalance_ns", c.imbalance.count()},
                         {"run_time_ns", c.run_time.count()},
                         {"tail_ns", c.tail.count()}});
    }
    ordered_json out{{"ranks", r.what.ranks}, {"run_time_ns", r.run_time().count()}};
    if (r.seen)
        out.update({{"observed_ns", r.seen->took.count()},
                    {"observed_calls", r.seen->calls},
                    {"replayed_calls", r.seen->replayed}});
    out.update({{"messages", r.played.messages},
                {"computing_ns", counts(r.played.computing)},
                {"exit_ns", counts(r.played.exits)},
                {"calls", std::move(calls)}});
    return out.dump(2) + '\n';
}

program_result read(const program_options& o, std::int32_t ranks) {
    program_result r;
    if (observe::is_observation(o.file)) {
        r.seen = read_observed_program(o.file, ranks);
        r.what = std::move(r.seen->what);
    } else {
        r.what = read_program(o.file, ranks);
    }
    return r;
}

}  // namespace

program_plan parse_plan(const std::string& text) {
    program_plan plan;
    if (text.empty()) return plan;
    for (const std::string& id : split_lists({text})) {
        const algorithm& a = find_algorithm(id);
        if (!plan.emplace(a.what, &a).second)
            throw error(fmt::format("--plan {}", text),
                        fmt::format("it names two algorithms of {}", traits(a.what).name),
                        "give one for each collective");
    }
    return plan;
}

void check_plan(const program_plan& plan, const program& p) {
    std::set<collective> open;
    for (const program_call& c : p.calls)
        if (c.use == nullptr) open.insert(c.what);
    for (const auto& [what, use] : plan)
        if (!open.contains(what))
            throw error(fmt::format("--plan with {}", use->id),
                        fmt::format("the program has no {} of which it does not name the algorithm", traits(what).name),
                        "leave it out");
}

void program_options::add_to(CLI::App& app) {
    app.add_option("--program", file, "simulate a program instead of one call: a text, or a file of 'rubato exec'")
        ->type_name("FILE");
    app.add_option("--plan", plan,
                   "the program's algorithms, such as allreduce/ring,bcast/chain (default: what suits the network)")
        ->type_name("ID[,ID...]");
    app.add_option("--without", without, "let this rank of the program, or the slowest, compute as long as the others")
        ->type_name("RANK|slowest");
}

void simulate_program(const program_options& o, std::int32_t ranks, const std::string& hosts,
                      const std::string& model_text, const std::string& inside_text,
                      const machine_options& machine_texts, const network_options& on_cables, bool json) {
    program_result r = read(o, ranks);
    if (!o.without.empty()) {
        r.evened = o.without == "slowest"
                       ? slowest_rank(r.what)
                       : static_cast<std::size_t>(parse_integer(o.without, "rank", 0, r.what.ranks - 1));
        even_out(r.what, *r.evened);
    }
    const program_plan plan = parse_plan(o.plan);
    check_plan(plan, r.what);
    const model network = parse_model(model_text);
    problem on_hosts;
    on_hosts.ranks = r.what.ranks;
    on_hosts.hosts = parse_hosts(hosts, r.what.ranks);
    const std::optional<placed_ranks> cables = on_cables.place(on_hosts);
    const std::optional<model> inside = parse_model_inside(inside_text, network, on_hosts);
    const machine on = machine_texts.make(r.what.ranks);
    program_simulator by;
    if (cables) {
        on.refuse_on_cables();
        by = [&](shape_table& all, std::span<const time_ns> arrivals, const simulation_options& options) {
            return topology::simulate_on(cables->routing(), cables->where, network, all, arrivals, options);
        };
    }
    simulation_options how;
    how.hosts = on_hosts.hosts;
    how.inside = inside ? &*inside : nullptr;
    how.cores = std::max(1U, std::thread::hardware_concurrency());
    on.set(how);
    r.played = play(r.what, network, plan, how, by);
    r.title =
        fmt::format("{}: {}{}, {}, {}, model {}{}", o.file, counted(r.what.ranks, "rank"),
                    hosts.empty() ? "" : fmt::format(", hosts {}", hosts), counted(r.what.events.size(), "call"),
                    counted(r.played.messages, "message"), model_text, machine_texts.describe() + on_cables.describe());
    write_out(json ? as_json(r) : as_text(r));
}

}  // namespace rubato::cli
