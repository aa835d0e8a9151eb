// rubato remap: which rank should be where?
#include "topology/remap.hpp"
#include "cli/command.hpp"
#include "cli/observed_traffic.hpp"
#include "cli/parallel.hpp"
#include "cli/topo_congestion.hpp"
#include "core/text.hpp"
#include "files/output_file.hpp"
#include "topology/generators.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

namespace rubato::cli {
namespace {

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

named_traffic messages_of(const topology::routes& r, const remap_options& o) {
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

topology::mapping best_mapping(const topology::routes& r, const topology::traffic& t, const topology::mapping& start,
                               const remap_options& o) {
    const topology::aim what = topology::parse_aim(o.aim_text);
    const auto worth = [&](const topology::mapping& m) { return score(total(congestion_by_round(r, t, m)), what); };
    if (o.search != "local" && o.search != "genetic")
        throw error(fmt::format("unknown search '{}'", o.search), "known are local, genetic", "give one of them");
    const std::uint64_t steps = o.steps > 0 ? static_cast<std::uint64_t>(o.steps) : topology::steps_for(t.ranks);
    std::vector<topology::mapping> found(static_cast<std::size_t>(o.tries));
    for_each_in_parallel(found.size(), "searched", [&](std::size_t i) {
        const std::uint64_t seed = static_cast<std::uint64_t>(o.seed) + i;
        found[i] = o.search == "local" ? anneal(r, t, start, what, steps, seed) : evolve(r, t, start, what, seed);
    });
    found.push_back(start);
    return *std::ranges::min_element(found, {}, worth);
}

nlohmann::ordered_json as_json(const topology::metrics& m) {
    return {{"largest", m.largest}, {"connections", m.connections}, {"cables", m.cables}};
}

void remap(const CLI::App& app, const remap_options& o) {
    const files::output_file ranks_out(o.rankfile);
    const files::output_file machines_out(o.machinefile);
    if (o.search == "genetic" && app.count("--steps") > 0)
        throw error("--steps has no effect", "the genetic algorithm ends by itself", "leave it out");
    const topology::network net = topology::parse_network(o.network_text);
    const topology::routes r = topology::route(net, o.routing);
    const named_traffic t = messages_of(r, o);
    const std::vector<std::string> hosts = read_hosts(o.hosts, net);
    const topology::mapping start = read_mapping(o.start, t.messages.ranks, net);
    const topology::mapping found = best_mapping(r, t.messages, start, o);
    const topology::metrics before = total(congestion_by_round(r, t.messages, start));
    const topology::metrics after = total(congestion_by_round(r, t.messages, found));
    if (!o.rankfile.empty()) ranks_out.write(topology::rankfile(found, hosts));
    if (!o.machinefile.empty()) machines_out.write(topology::machine_file(found, hosts));
    if (o.json) {
        const nlohmann::ordered_json all{{"network", net.name()},  {"routing", r.name()}, {"traffic", t.name},
                                         {"ranks", found.size()},  {"mapping", found},    {"before", as_json(before)},
                                         {"after", as_json(after)}};
        return write_out(all.dump(2) + '\n');
    }
    const auto line = [](std::string name, std::uint64_t was, std::uint64_t is) {
        const double change = was == 0 ? 0 : static_cast<double>(is) / static_cast<double>(was) - 1;
        return std::vector<std::string>{std::move(name), fmt::format("{}", was), fmt::format("{}", is),
                                        fmt::format("{:+.1f} %", 100 * change)};
    };
    std::string text =
        fmt::format("{} of {} on {}, routing {}\n\n", t.name, counted(found.size(), "rank"), net.name(), r.name()) +
        align({{"METRIC", "BEFORE", "AFTER", "CHANGE"},
               line("largest per round", before.largest, after.largest),
               line("sum over connections", before.connections, after.connections),
               line("sum over cables", before.cables, after.cables)},
              {false, true, true, true});
    if (o.rankfile.empty() && o.machinefile.empty()) {
        text += "\nranks 0, 1, ... on:";
        for (const topology::vertex v : found) text += " " + hosts[v];
        text += '\n';
    }
    write_out(text);
}

}  // namespace

void add_remap(CLI::App& command, int&) {
    auto o = std::make_shared<remap_options>();
    CLI::App* app = command.add_subcommand("remap", "find the order of ranks with the least congestion on a network");
    app->add_option("NETWORK", o->network_text, "as for 'rubato topo'")->required();
    app->add_option(
           "TRAFFIC", o->what,
           "an algorithm (allgather/bruck), a pattern (neighbours:3), or file:NAME, what 'rubato exec' observed")
        ->required();
    app->add_option("--routing", o->routing, "as for 'rubato topo'")->type_name("NAME");
    add_integer(*app, "-p,--ranks", o->traffic.ranks, "number of ranks", 1, 1 << 20,
                "how many ranks (default: as many as endpoints, or as were observed)");
    add_integer(*app, "-s,--segments", o->traffic.segments, "number of segments", 1, 1 << 20,
                "of an algorithm that cuts vectors (default: 1)");
    app->add_option("--metric", o->aim_text, "largest, connections or cables (default: connections)")
        ->type_name("NAME");
    app->add_option("--search", o->search, "local (annealing), or genetic as in Hoefler 2008 (default: local)")
        ->type_name("NAME");
    app->add_option("--start", o->start,
                    "the endpoints of ranks before: random:SEED, or a file with a number or name for each rank\n"
                    "(default: rank r on endpoint r)")
        ->type_name("START");
    add_integer(*app, "--steps", o->steps, "number of steps", 1, INT32_MAX,
                "swaps that a local search tries (default: 20000, with many ranks 200 for each)");
    add_integer(*app, "--tries", o->tries, "number of searches", 1, 10000,
                "searches, of which the best counts (default: 4)");
    add_integer(*app, "--seed", o->seed, "seed", 0, INT32_MAX, "of random numbers (default: 1)");
    app->add_option("--hosts", o->hosts, "file with the name of each endpoint's host, one per line")->type_name("FILE");
    app->add_option("--rankfile", o->rankfile, "write a rankfile for Open MPI (mpirun --rankfile FILE)")
        ->type_name("FILE");
    app->add_option("--machinefile", o->machinefile, "write a machine file for MPICH (mpiexec -f FILE)")
        ->type_name("FILE");
    app->add_flag("--json", o->json, "print an object");
    app->footer(
        "Only the order of ranks changes; the endpoints that they use are those of the start. Metrics: the sum over "
        "rounds\n"
        "of the largest congestion of a connection, the sum over all connections, and the sum over all cables "
        "(Hoefler\n"
        "2008, II.6). In an observed program, each collective counts as the algorithm that MPI libraries use for its\n"
        "size. Communicators without common ranks that make the same calls from one place do so at the same time.\n"
        "Examples:\n"
        "  rubato remap fattree:crossbar=8,ports=16 allgather/bruck --routing modulo\n"
        "  rubato remap torus:4x4x4 neighbours:3 --start random:1 --json\n"
        "  rubato remap tree:k=4,n=3 alltoall/bruck --metric largest --rankfile ranks.txt --machinefile machines.txt");
    app->callback([o, app] { remap(*app, *o); });
}

}  // namespace rubato::cli
