// rubato topo: what a network is worth, and what collectives do to it.
#include "base/files/output_file.hpp"
#include "command/cli/parallel.hpp"
#include "command/cli/topo_congestion.hpp"
#include "simulator/topology/generators.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>

namespace rubato::command {
namespace {

struct topo_options {
    std::string network_text{};
    std::string routing{};
    std::int32_t patterns = 1000;
    std::int32_t seed = 1;
    std::vector<std::string> congestion{};
    std::string mix{};
    traffic_options traffic{};
    std::string svg{};
    bool json = false;
};

/// A mean, and the interval that holds the true one with 95 % probability.
struct mean_estimate {
    double mean = 0;
    double low = 0;
    double high = 0;
};

mean_estimate effective_bandwidth(const simulator::routes& r, const topo_options& o) {
    const auto patterns = static_cast<std::size_t>(o.patterns);
    std::vector<double> values(patterns);
    // A piece of work has its own meter, so it is not too small.
    const std::size_t pieces = std::min<std::size_t>(patterns, 200);
    for_each_in_parallel(pieces, "of the bisections", [&](std::size_t piece) {
        simulator::meter m(r);
        for (std::size_t i = piece; i < patterns; i += pieces)
            values[i] = simulator::bandwidth_of(
                m, simulator::random_bisection(r.net().endpoints(), static_cast<std::uint64_t>(o.seed), i));
    });
    double sum = 0;
    for (const double v : values) sum += v;
    const double mean = sum / static_cast<double>(patterns);
    double squares = 0;
    for (const double v : values) squares += (v - mean) * (v - mean);
    const double half =
        patterns < 2 ? mean
                     : 1.96 * std::sqrt(squares / static_cast<double>(patterns - 1) / static_cast<double>(patterns));
    return {mean, std::max(mean - half, 0.), std::min(mean + half, 1.)};
}

std::string circle_text(const simulator::routes& r, const std::vector<simulator::channel>& circle) {
    std::string text;
    for (const simulator::channel c : circle) text += r.net().name_of(r.net().tail(c)) + " > ";
    return text + r.net().name_of(r.net().tail(circle.front()));
}

std::string as_text(const topo_options& o, const simulator::routes& r, const mean_estimate& bandwidth,
                    const simulator::forwarding_index& index, const std::vector<simulator::channel>& circle) {
    const simulator::network& net = r.net();
    return align(
        {{"endpoints", fmt::format("{}", net.endpoints())},
         {"switches", fmt::format("{}", net.switches())},
         {"cables", fmt::format("{}, {} between switches", net.cables().size(), net.cables().size() - net.endpoints())},
         {"routing", std::string(r.name())},
         {"deadlocks", circle.empty() ? "impossible" : "possible: " + circle_text(r, circle)},
         {"effective bisection bandwidth", fmt::format("{:.4f}, 95 % interval {:.4f} to {:.4f}, {} bisections",
                                                       bandwidth.mean, bandwidth.low, bandwidth.high, o.patterns)},
         {"forwarding index",
          fmt::format("mean {:.1f}, sd {:.1f}, {} to {}", index.mean, index.sd, index.min, index.max)}});
}

void describe(const CLI::App& app, const topo_options& o) {
    const base::output_file picture(o.svg);
    const simulator::network net = simulator::parse_network(o.network_text);
    const simulator::routes r = simulator::route(net, o.routing);
    check_traffic(app, !o.congestion.empty(), !o.mix.empty());
    if (!o.svg.empty()) picture.write(simulator::draw_svg(r));
    const std::vector<simulator::channel> circle = simulator::find_deadlock(r);
    const mean_estimate bandwidth = effective_bandwidth(r, o);
    const simulator::forwarding_index index = simulator::forwarding_index_of(r);
    base::json out{
        {"network", net.name()},
        {"endpoints", net.endpoints()},
        {"switches", net.switches()},
        {"cables", net.cables().size()},
        {"routing", r.name()},
        {"deadlock_free", circle.empty()},
        {"effective_bisection_bandwidth", bandwidth.mean},
        {"interval", base::json::array({bandwidth.low, bandwidth.high})},
        {"patterns", o.patterns},
        {"seed", o.seed},
        {"forwarding_index", {{"mean", index.mean}, {"sd", index.sd}, {"min", index.min}, {"max", index.max}}}};
    std::string text = fmt::format("{}\n\n{}", net.name(), as_text(o, r, bandwidth, index, circle));
    if (!o.congestion.empty()) {
        const congestion_table found = congestion_of(r, o.congestion, o.traffic);
        out["congestion"] = as_json(found);
        text += "\n" + as_text(found);
    }
    if (!o.mix.empty()) {
        const mix_estimate found = estimate_mix(r, o.mix, o.traffic);
        out["mix"] = as_json(found);
        text += "\n" + as_text(found);
    }
    write_out(o.json ? pretty(out) : text);
}

}  // namespace

void add_topo(CLI::App* app, int&) {
    auto o = std::make_shared<topo_options>();
    require(add_value(*app, "NETWORK", o->network_text, "",
                      "such as fattree:crossbar=24,ports=384,oversubscription=1:2,depth=1"));
    add_value(*app, "--routing", o->routing, "NAME",
              "given, modulo, balanced, updown or dimension (default: given tables, dimension on grids, else\n"
              "balanced)");
    add_integer(*app, "--patterns", o->patterns, "number of bisections", 1, 10000000,
                "how many random bisections (default: 1000)");
    add_integer(*app, "--seed", o->seed, "seed", 0, INT32_MAX, "of random numbers (default: 1)");
    one_value_each_time(
        add_value(*app, "--congestion", o->congestion, "WHAT",
                  "also the congestion of a collective, of some of its algorithms, or of a pattern; may be repeated"));
    add_value(*app, "--mix", o->mix, "WHAT=PERCENT[,...]",
              "also what an application would gain by full bandwidth, which spends these percents of its time in\n"
              "patterns: neighbours:3=27.4,tree=4.6");
    o->traffic.add_to(*app);
    add_flag(*app, "--json", o->json, "print an object");
    add_value(*app, "--svg", o->svg, "FILE", "also draw it");
    std::string routings;
    for (const simulator::method& m : simulator::methods()) routings += fmt::format("  {:<10} {}\n", m.name, m.what);
    add_footer(*app, fmt::format(R"(
Effective bisection bandwidth: each endpoint of a random half sends to one of the other half, all at once; the
mean share of a cable's bandwidth that they get, over many such patterns (Hoefler 2008, II.4). Forwarding
index: of the routes between all endpoints, how many share the busiest cable of a route.
Congestion: LARGEST is the sum over rounds of the most messages on one cable, CONNECTIONS the sum over rounds
and messages of the most on a cable of each, CABLES the sum over rounds and cables. In a round each rank sends
one message and receives one. SHARE is the bandwidth that messages get, if nobody waits for others, and if all
wait for the last in each round. TIME: alpha + beta times the bytes on the busiest cable, over all rounds.
Patterns: {}.
Networks:
{}Routing:
{}Examples:
  rubato topo fattree:crossbar=24,ports=384,oversubscription=1:2,depth=1
  rubato topo torus:8x8x8 --patterns 100 --json
  rubato topo dragonfly:routers=4,hosts=2,global=2 --routing updown --svg dragonfly.svg
  rubato topo tree:k=4,n=3 --congestion allreduce --bytes 1MiB
  rubato topo tree:k=4,n=3 --mix neighbours:3=27.4,tree=4.6)",
                                 simulator::pattern_names(), simulator::network_forms(), routings));
    when_called(*app, [o, app] { describe(*app, *o); });
}

}  // namespace rubato::command
