// rubato remap: which rank should be where?
#include "simulator/topology/remap.hpp"
#include "base/core/text.hpp"
#include "base/files/output_file.hpp"
#include "command/cli/parallel.hpp"
#include "command/cli/topo_congestion.hpp"
#include "dropin/observe/observation.hpp"
#include "simulator/simulate/at_scale.hpp"
#include "simulator/topology/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

namespace rubato::command {
namespace {

/// What MPI libraries use for small and for large vectors or chunks, for any number of ranks.
struct habit {
    collective what;
    std::string_view small;
    std::string_view large;
};
constexpr std::int64_t is_large = 16384;
constexpr std::array habits{
    habit{collective::barrier, "barrier/dissemination", "barrier/dissemination"},
    habit{collective::bcast, "bcast/binomial", "bcast/scatter_ring"},
    habit{collective::reduce, "reduce/binomial", "reduce/binomial"},
    habit{collective::allreduce, "allreduce/recursive_doubling", "allreduce/ring"},
    habit{collective::scatter, "scatter/binomial", "scatter/linear"},
    habit{collective::gather, "gather/binomial", "gather/linear"},
    habit{collective::allgather, "allgather/bruck", "allgather/ring"},
    habit{collective::alltoall, "alltoall/bruck", "alltoall/pairwise"},
    habit{collective::reduce_scatter_block, "reduce_scatter_block/halving", "reduce_scatter_block/ring"},
    habit{collective::scan, "scan/recursive_doubling", "scan/recursive_doubling"},
    habit{collective::exscan, "exscan/recursive_doubling", "exscan/recursive_doubling"},
    habit{collective::scatterv, "scatterv/linear", "scatterv/linear"},
    habit{collective::gatherv, "gatherv/linear", "gatherv/linear"},
    habit{collective::allgatherv, "allgatherv/ring", "allgatherv/ring"},
    habit{collective::alltoallv, "alltoallv/pairwise", "alltoallv/pairwise"},
    habit{collective::reduce_scatter, "reduce_scatter/halving", "reduce_scatter/ring"},
};

static_assert(std::ranges::all_of(collectives(),
                                  [](const collective_traits& t) {
                                      return t.on_graph ||
                                             std::ranges::find(habits, t.what, &habit::what) != habits.end();
                                  }),
              "a collective has no habit");

using ranks_of_world = std::vector<std::int32_t>;

/// Calls that count as one: ranks may make a call from several places, and each place has a row.
struct counted_calls {
    const habit* how;
    const dropin::row* first;
    double calls;
    std::vector<const ranks_of_world*> on;  ///< communicators that make them at the same time
};

std::vector<counted_calls> count_calls(const dropin::observation& seen) {
    std::vector<counted_calls> all;
    for (const dropin::row& r : seen.rows) {
        const ranks_of_world& members = seen.communicators[r.communicator].members;
        const auto h = std::ranges::find(habits, r.what, &habit::what);
        if (h == habits.end() || members.size() < 2) continue;  // the neighbours are not in the file
        const auto same = std::ranges::find_if(all, [&r](const counted_calls& c) {
            return c.first->communicator == r.communicator && c.first->what == r.what && c.first->root == r.root &&
                   c.first->bytes == r.bytes;
        });
        const double calls = static_cast<double>(r.calls) * r.callers / static_cast<double>(members.size());
        if (same != all.end())
            same->calls += calls;
        else
            all.push_back({&*h, &r, calls, {&members}});
    }
    return all;
}

bool apart(const ranks_of_world& a, const ranks_of_world& b) {
    return std::ranges::none_of(a, [&b](std::int32_t r) { return std::ranges::find(b, r) != b.end(); });
}

/// Communicators without common ranks, such as the rows of a grid, that make the same calls from one place: they do so
/// at the same time.
std::vector<counted_calls> put_together(std::vector<counted_calls> calls) {
    std::vector<counted_calls> all;
    for (counted_calls& c : calls) {
        const auto same = std::ranges::find_if(all, [&c](const counted_calls& other) {
            const dropin::row& a = *c.first;
            const dropin::row& b = *other.first;
            return a.site == b.site && a.what == b.what && a.root == b.root && a.bytes == b.bytes &&
                   c.calls == other.calls && c.on.front()->size() == other.on.front()->size() &&
                   std::ranges::all_of(other.on, [&c](const ranks_of_world* g) { return apart(*g, *c.on.front()); });
        });
        if (same != all.end())
            same->on.push_back(c.on.front());
        else
            all.push_back(std::move(c));
    }
    return all;
}

simulator::traffic traffic_of_call(const habit& h, const dropin::row& call, std::int32_t ranks) {
    problem p;
    p.what = call.what;
    p.ranks = ranks;
    p.root = rank(call.root);
    p.arrivals.assign(static_cast<std::size_t>(ranks), time_ns{});
    const std::int64_t chunk = traits(p.what).irregular ? call.bytes / ranks : call.bytes;
    const algorithm* use = &find_algorithm(chunk < is_large ? h.small : h.large);
    if (unmet_need(*use, p)) use = &find_algorithm(h.large);
    const layout sizes = layout::uniform(chunk);
    schedules::shape_table shapes = simulator::shapes_of(*use, p, std::span(&sizes, 1));
    return simulator::traffic_of(shapes);
}

/// The collectives of all its communicators, with the algorithms that MPI libraries use for their sizes, weighted by
/// calls. Throws if the file is no observation or names no collective that moves data between ranks.
named_traffic observed_traffic(const std::string& file) {
    const dropin::observation seen = dropin::read(file);
    named_traffic found{fmt::format("file:{}", file), {static_cast<std::uint32_t>(seen.ranks), {}}, 1, {}};
    for (const counted_calls& c : put_together(count_calls(seen))) {
        const simulator::traffic one =
            traffic_of_call(*c.how, *c.first, static_cast<std::int32_t>(c.on.front()->size()));
        for (const simulator::round& each : one.rounds) {
            simulator::round at_once;
            at_once.times = each.times * static_cast<std::uint64_t>(std::max<std::int64_t>(std::llround(c.calls), 1));
            for (const ranks_of_world* members : c.on)
                for (const simulator::message& m : each.messages)
                    at_once.messages.push_back({static_cast<std::uint32_t>((*members)[m.from]),
                                                static_cast<std::uint32_t>((*members)[m.to]), m.bytes});
            found.messages.add(std::move(at_once));
        }
    }
    if (found.messages.rounds.empty())
        throw error(fmt::format("'{}' has no messages", file), "no collective among several ranks was observed in it",
                    "observe another program, or name an algorithm");
    return found;
}

struct remap_options {
    std::string network_text{};
    std::string what{};
    std::string routing{};
    traffic_options traffic{};
    std::string aim_text = "connections";
    std::string search = "local";
    std::string start{};
    std::int32_t steps = 0;
    std::int32_t tries = 4;
    std::int32_t seed = 1;
    std::string hosts{};
    std::string rankfile{};
    std::string machinefile{};
    bool json = false;
};

named_traffic messages_of(const simulator::routes& r, const remap_options& o) {
    if (o.what.starts_with("file:")) {
        named_traffic seen = observed_traffic(o.what.substr(5));
        if (o.traffic.ranks > 0 && static_cast<std::uint32_t>(o.traffic.ranks) != seen.messages.ranks)
            throw error(fmt::format("--ranks {}", o.traffic.ranks),
                        fmt::format("the program had {} ranks", seen.messages.ranks), "leave it out");
        return seen;
    }
    const std::uint32_t ranks = o.traffic.ranks > 0 ? static_cast<std::uint32_t>(o.traffic.ranks) : r.net().endpoints();
    std::vector<named_traffic> found = traffics(r, o.what, ranks, o.traffic);
    if (found.size() != 1)
        throw error(fmt::format("'{}' has {} algorithms", o.what, found.size()), "ranks are placed for one",
                    fmt::format("name one, such as {}", found.front().name));
    if (!found.front().skipped.empty())
        throw error(fmt::format("{} cannot be used", found.front().name), found.front().skipped, "give other ranks");
    return std::move(found.front());
}

simulator::mapping best_mapping(const simulator::routes& r, const simulator::traffic& t,
                                const simulator::mapping& start, const remap_options& o) {
    const simulator::aim what = simulator::parse_aim(o.aim_text);
    const auto worth = [&](const simulator::mapping& m) {
        return simulator::score(simulator::total(simulator::congestion_by_round(r, t, m)), what);
    };
    if (o.search != "local" && o.search != "genetic")
        throw error(fmt::format("unknown search '{}'", o.search), "known are local, genetic", "give one of them");
    const std::uint64_t steps = o.steps > 0 ? static_cast<std::uint64_t>(o.steps) : simulator::steps_for(t.ranks);
    std::vector<simulator::mapping> found(static_cast<std::size_t>(o.tries));
    for_each_in_parallel(found.size(), "searched", [&](std::size_t i) {
        const std::uint64_t seed = static_cast<std::uint64_t>(o.seed) + i;
        found[i] = o.search == "local" ? simulator::anneal(r, t, start, what, steps, seed)
                                       : simulator::evolve(r, t, start, what, seed);
    });
    found.push_back(start);
    return *std::ranges::min_element(found, {}, worth);
}

base::json as_json(const simulator::metrics& m) {
    return {{"largest", m.largest}, {"connections", m.connections}, {"cables", m.cables}};
}

void remap(const CLI::App& app, const remap_options& o) {
    const base::output_file ranks_out(o.rankfile);
    const base::output_file machines_out(o.machinefile);
    if (o.search == "genetic" && is_given(app, "--steps"))
        throw error("--steps has no effect", "the genetic algorithm ends by itself", "leave it out");
    const simulator::network net = simulator::parse_network(o.network_text);
    const simulator::routes r = simulator::route(net, o.routing);
    const named_traffic t = messages_of(r, o);
    const std::vector<std::string> hosts = simulator::read_hosts(o.hosts, net);
    const simulator::mapping start = simulator::read_mapping(o.start, t.messages.ranks, net);
    const simulator::mapping found = best_mapping(r, t.messages, start, o);
    const simulator::metrics before = simulator::total(simulator::congestion_by_round(r, t.messages, start));
    const simulator::metrics after = simulator::total(simulator::congestion_by_round(r, t.messages, found));
    if (!o.rankfile.empty()) ranks_out.write(simulator::rankfile(found, hosts));
    if (!o.machinefile.empty()) machines_out.write(simulator::machine_file(found, hosts));
    if (o.json) {
        const base::json all{{"network", net.name()},  {"routing", r.name()}, {"traffic", t.name},
                             {"ranks", found.size()},  {"mapping", found},    {"before", as_json(before)},
                             {"after", as_json(after)}};
        return write_out(pretty(all));
    }
    const auto line = [](std::string name, std::uint64_t was, std::uint64_t is) {
        const double change = was == 0 ? 0 : static_cast<double>(is) / static_cast<double>(was) - 1;
        return std::vector<std::string>{std::move(name), fmt::format("{}", was), fmt::format("{}", is),
                                        fmt::format("{:+.1f} %", 100 * change)};
    };
    std::string text = fmt::format("{} of {} on {}, routing {}\n\n", t.name, base::counted(found.size(), "rank"),
                                   net.name(), r.name()) +
                       align({{"METRIC", ">BEFORE", ">AFTER", ">CHANGE"},
                              line("largest per round", before.largest, after.largest),
                              line("sum over connections", before.connections, after.connections),
                              line("sum over cables", before.cables, after.cables)});
    if (o.rankfile.empty() && o.machinefile.empty()) {
        text += "\nranks 0, 1, ... on:";
        for (const simulator::vertex v : found) text += " " + hosts[v];
        text += '\n';
    }
    write_out(text);
}

}  // namespace

void add_remap(CLI::App* app, int&) {
    auto o = std::make_shared<remap_options>();
    require(add_value(*app, "NETWORK", o->network_text, "", "as for 'rubato topo'"));
    require(add_value(
        *app, "TRAFFIC", o->what, "",
        "an algorithm (allgather/bruck), a pattern (neighbours:3), or file:NAME, what 'rubato exec' observed"));
    add_value(*app, "--routing", o->routing, "NAME", "as for 'rubato topo'");
    add_integer(*app, "-p,--ranks", o->traffic.ranks, "number of ranks", 1, 1 << 20,
                "how many ranks (default: as many as endpoints, or as were observed)");
    add_integer(*app, "-s,--segments", o->traffic.segments, "number of segments", 1, 1 << 20,
                "of an algorithm that cuts vectors (default: 1)");
    add_value(*app, "--metric", o->aim_text, "NAME", "largest, connections or cables (default: connections)");
    add_value(*app, "--search", o->search, "NAME", "local (annealing), or genetic as in Hoefler 2008 (default: local)");
    add_value(*app, "--start", o->start, "START",
              "the endpoints of ranks before: random:SEED, or a file with a number or name for each rank\n"
              "(default: rank r on endpoint r)");
    add_integer(*app, "--steps", o->steps, "number of steps", 1, INT32_MAX,
                "swaps that a local search tries (default: 20000, with many ranks 200 for each)");
    add_integer(*app, "--tries", o->tries, "number of searches", 1, 10000,
                "searches, of which the best counts (default: 4)");
    add_integer(*app, "--seed", o->seed, "seed", 0, INT32_MAX, "of random numbers (default: 1)");
    add_value(*app, "--hosts", o->hosts, "FILE", "file with the name of each endpoint's host, one per line");
    add_value(*app, "--rankfile", o->rankfile, "FILE", "write a rankfile for Open MPI (mpirun --rankfile FILE)");
    add_value(*app, "--machinefile", o->machinefile, "FILE", "write a machine file for MPICH (mpiexec -f FILE)");
    add_flag(*app, "--json", o->json, "print an object");
    add_footer(*app, R"(
Only the order of ranks changes; the endpoints that they use are those of the start. Metrics: the sum over rounds
of the largest congestion of a connection, the sum over all connections, and the sum over all cables (Hoefler
2008, II.6). In an observed program, each collective counts as the algorithm that MPI libraries use for its
size. Communicators without common ranks that make the same calls from one place do so at the same time.
Examples:
  rubato remap fattree:crossbar=8,ports=16 allgather/bruck --routing modulo
  rubato remap torus:4x4x4 neighbours:3 --start random:1 --json
  rubato remap tree:k=4,n=3 alltoall/bruck --metric largest --rankfile ranks.txt --machinefile machines.txt)");
    when_called(*app, [o, app] { remap(*app, *o); });
}

}  // namespace rubato::command
