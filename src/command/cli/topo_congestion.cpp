#include "command/cli/topo_congestion.hpp"

#include "command/cli/columns.hpp"
#include "command/cli/parallel.hpp"
#include "command/cli/work_estimate.hpp"
#include "simulator/simulate/at_scale.hpp"

#include <algorithm>
#include <cmath>

namespace rubato::command {
namespace {

constexpr double most_steps = 4e6;
constexpr std::uint32_t most_tried_segments = 64;
constexpr std::int32_t mappings_of_mix = 100;

double time_of(const std::vector<simulator::round_congestion>& rounds, const hockney& costs) {
    double ns = 0;
    for (const simulator::round_congestion& r : rounds)
        ns += static_cast<double>(r.times) * (costs.alpha + costs.beta * static_cast<double>(r.busiest));
    return ns;
}

std::uint32_t ranks_of(const simulator::routes& r, const traffic_options& o) {
    return o.ranks > 0 ? static_cast<std::uint32_t>(o.ranks) : r.net().endpoints();
}

named_traffic traffic_of_algorithm(const simulator::routes& r, const algorithm& a, std::uint32_t ranks,
                                   const traffic_options& o) {
    named_traffic found{std::string(a.id), {}, 1, {}};
    const model costs = parse_model(o.model_text);
    problem p;
    p.what = a.what;
    p.ranks = static_cast<std::int32_t>(ranks);
    p.arrivals.assign(ranks, time_ns{});
    if (traits(a.what).on_graph) p.neighbours = parse_graph("ring", p.ranks);
    const std::int64_t chunk = chunk_of(size_of(o.bytes.empty() ? "1" : o.bytes, a.what), p);
    const bool try_several = a.segmented && o.segments == 0 && !o.bytes.empty();
    const std::uint32_t first = a.segmented && o.segments > 0 ? static_cast<std::uint32_t>(o.segments) : 1;
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t segments = first; segments <= (try_several ? most_tried_segments : first); segments *= 4) {
        p.segments = segments;
        if (a.uses_round_time()) p.round_time = segment_time(costs, part_offset(chunk, segments, 1));
        if (const auto unmet = unmet_need(a, p)) return {found.name, {}, 1, *unmet};
        const work_estimate takes = work_to_simulate(a, p);
        if (takes.steps > most_steps) {
            if (segments == first) found.skipped = fmt::format("it has {:.1f} million steps", takes.steps / 1e6);
            break;
        }
        const layout sizes = layout::uniform(chunk);
        schedules::shape_table shapes = simulator::shapes_of(a, p, std::span(&sizes, 1));
        simulator::traffic messages = simulator::traffic_of(shapes);
        const double ns = try_several ? time_of(simulator::congestion_by_round(
                                                    r, messages, simulator::linear_mapping(ranks, r.net().endpoints())),
                                                linear_costs(costs))
                                      : 0;
        if (ns >= least) break;
        least = ns;
        found.messages = std::move(messages);
        found.segments = segments;
    }
    return found;
}

congestion_row measured(const simulator::routes& r, named_traffic t, const traffic_options& o, std::int32_t mappings) {
    const hockney costs = linear_costs(parse_model(o.model_text));
    const std::uint32_t at_once = simulator::sent_at_once(t.messages);
    congestion_row row;
    const int count = std::max(mappings, 1);
    for (int i = 0; i < count; ++i) {
        const simulator::vertex endpoints = r.net().endpoints();
        const simulator::mapping where =
            mappings == 0 ? simulator::linear_mapping(t.messages.ranks, endpoints)
                          : simulator::random_mapping(t.messages.ranks, endpoints, 1, static_cast<std::uint64_t>(i));
        std::vector<simulator::round_congestion> rounds = simulator::congestion_by_round(r, t.messages, where);
        const simulator::metrics sums = simulator::total(rounds);
        const simulator::share bandwidth = simulator::share_of(rounds, at_once);
        row.largest += static_cast<double>(sums.largest) / count;
        row.connections += static_cast<double>(sums.connections) / count;
        row.cables += static_cast<double>(sums.cables) / count;
        row.bandwidth.upper += bandwidth.upper / count;
        row.bandwidth.lower += bandwidth.lower / count;
        row.ns += time_of(rounds, costs) / count;
        if (i == 0) row.rounds = std::move(rounds);
    }
    row.of = std::move(t);
    return row;
}

std::uint64_t count_rounds(const congestion_row& row) {
    std::uint64_t all = 0;
    for (const simulator::round_congestion& r : row.rounds) all += r.times;
    return all;
}

std::string rounds_text(const congestion_row& row) {
    table lines{{">ROUNDS", ">MESSAGES", ">LARGEST", ">MEAN", ">CABLES", ">BUSIEST"}};
    std::uint64_t first = 1;
    for (const simulator::round_congestion& r : row.rounds) {
        const std::uint64_t last = first + r.times - 1;
        lines.push_back(
            {first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last),
             fmt::format("{}", r.messages), fmt::format("{}", r.sums.largest),
             fmt::format("{:.2f}", static_cast<double>(r.sums.connections) / static_cast<double>(r.messages)),
             fmt::format("{}", r.sums.cables), format_bytes(r.busiest)});
        first = last + 1;
    }
    return fmt::format("\n{}\n{}", row.of.name, align(lines));
}

}  // namespace

void traffic_options::add_to(CLI::App& app) {
    add_integer(app, "-p,--ranks", ranks, "number of ranks", 1, 1 << 20,
                "how many ranks (default: as many as endpoints)");
    add_integer(app, "--mappings", mappings, "number of mappings", 1, 1000000,
                "ranks on random endpoints, so many times (default: rank r on endpoint r)");
    add_integer(app, "-s,--segments", segments, "number of segments", 1, 1 << 20,
                "of algorithms that cut vectors (default: what is best of 1, 4, 16, 64)");
    add_bytes(app, bytes);
    add_value(app, "--model", model_text, "MODEL",
              "cost model of a message that is alone on its cables (default: curie)");
    add_flag(app, "--rounds", rounds, "also round by round");
}

void check_traffic(const CLI::App& app, bool congestion, bool mix) {
    for (const char* option : {"--ranks", "--mappings", "--segments", "--bytes", "--model", "--rounds"}) {
        const bool both = std::string_view(option) == "--ranks" || std::string_view(option) == "--mappings";
        if (is_given(app, option) && !congestion && !(mix && both))
            throw error(fmt::format("{} has no effect", option), "it belongs to --congestion", "leave it out");
    }
}

std::vector<named_traffic> traffics(const simulator::routes& r, const std::string& what, std::uint32_t ranks,
                                    const traffic_options& o) {
    std::vector<named_traffic> all;
    if (auto pattern = simulator::named_pattern(what, ranks)) {
        all.push_back({what, std::move(*pattern), 1, {}});
        return all;
    }
    const std::vector<const algorithm*> chosen = parse_algorithms(what);
    all.resize(chosen.size());
    for_each_in_parallel(chosen.size(), "built",
                         [&](std::size_t i) { all[i] = traffic_of_algorithm(r, *chosen[i], ranks, o); });
    return all;
}

congestion_table congestion_of(const simulator::routes& r, const std::vector<std::string>& what,
                               const traffic_options& o) {
    congestion_table found{ranks_of(r, o), o.mappings, o.rounds, !o.bytes.empty(), {}};
    std::vector<named_traffic> all;
    for (const std::string& each : what)
        for (named_traffic& t : traffics(r, each, found.ranks, o)) all.push_back(std::move(t));
    if (std::ranges::all_of(all, [](const named_traffic& t) { return !t.skipped.empty(); }))
        throw error(fmt::format("{} cannot be used", all.front().name), all.front().skipped, "give other ranks");
    found.rows.resize(all.size());
    for_each_in_parallel(all.size(), "routed",
                         [&](std::size_t i) { found.rows[i] = measured(r, std::move(all[i]), o, o.mappings); });
    std::ranges::stable_sort(found.rows, {}, [&](const congestion_row& row) {
        return std::tuple(!row.of.skipped.empty(), found.timed ? row.ns : row.largest);
    });
    return found;
}

namespace {

columns<congestion_row> columns_of(const congestion_table& t) {
    const auto mean = [digits = t.mappings > 1 ? 1 : 0](double congestion_row::*what) {
        return [=](const congestion_row& row) { return cell(fmt::format("{:.{}f}", row.*what, digits), row.*what); };
    };
    columns<congestion_row> all{
        {"ALGORITHM", "id", [](const congestion_row& row) { return row.of.name; }},
        {"", "ranks", [&t](const congestion_row&) { return t.ranks; }},
        {">ROUNDS", "rounds", count_rounds},
        {">LARGEST", "largest", mean(&congestion_row::largest)},
        {">CONNECTIONS", "connections", mean(&congestion_row::connections)},
        {">CABLES", "cables", mean(&congestion_row::cables)},
        {">SHARE", "share",
         [](const congestion_row& row) {
             const auto [upper, lower] = std::pair(row.bandwidth.upper, row.bandwidth.lower);
             return cell(fmt::format("{:.3f} to {:.3f}", lower, upper), base::json::array({lower, upper}));
         }},
    };
    if (t.timed) {
        all.push_back({">TIME", "time_ns", [](const congestion_row& row) { return time_ns(std::llround(row.ns)); }});
        all.push_back({">SEGMENTS", "segments", [](const congestion_row& row) { return row.of.segments; }});
    }
    if (t.by_round)
        all.push_back({"", "by_round", [](const congestion_row& row) {
                           auto rounds = base::json::array();
                           for (const simulator::round_congestion& r : row.rounds)
                               rounds.push_back({{"times", r.times},
                                                 {"messages", r.messages},
                                                 {"largest", r.sums.largest},
                                                 {"connections", r.sums.connections},
                                                 {"cables", r.sums.cables},
                                                 {"busiest_bytes", r.busiest}});
                           return cell("", rounds);
                       }});
    return all;
}

}  // namespace

std::string as_text(const congestion_table& t) {
    std::vector<congestion_row> done;
    std::string below;
    std::string by_round;
    for (const congestion_row& row : t.rows) {
        if (!row.of.skipped.empty()) {
            below += fmt::format("{} skipped: {}\n", row.of.name, row.of.skipped);
            continue;
        }
        done.push_back(row);
        if (t.by_round) by_round += rounds_text(row);
    }
    return fmt::format("congestion of {} ranks, {}\n{}{}{}", t.ranks,
                       t.mappings > 0 ? fmt::format("mean of {} random mappings", t.mappings) : "rank r on endpoint r",
                       as_table(columns_of(t), done), below, by_round);
}

base::json as_json(const congestion_table& t) {
    auto out = base::json::array();
    for (const congestion_row& row : t.rows)
        out.push_back(row.of.skipped.empty() ? as_object(columns_of(t), row)
                                             : base::json{{"id", row.of.name}, {"skipped", row.of.skipped}});
    return out;
}

namespace {

columns<mix_estimate::part> columns_of_mix() {
    using part = mix_estimate::part;
    return {
        {"PATTERN", "pattern", [](const part& p) { return p.name; }},
        {">TIME", "percent", [](const part& p) { return cell(percent(p.percent / 100), p.percent); }},
        {">SHARE OF BANDWIDTH", "share", [](const part& p) { return cell(fmt::format("{:.3f}", p.share), p.share); }}};
}

}  // namespace

mix_estimate estimate_mix(const simulator::routes& r, const std::string& mix, const traffic_options& o) {
    mix_estimate found;
    found.mappings = o.mappings > 0 ? o.mappings : mappings_of_mix;
    for (simulator::mix_part& part : simulator::parse_mix(mix, ranks_of(r, o))) {
        const congestion_row row = measured(r, {part.pattern, std::move(part.messages), 1, {}}, o, found.mappings);
        const double share = std::min(row.bandwidth.upper, 1.);
        found.parts.push_back({std::move(part.pattern), part.percent, share});
        found.remaining -= part.percent * (1 - share);
    }
    return found;
}

std::string as_text(const mix_estimate& m) {
    return fmt::format("{}with full bandwidth: {} of the time (mean of {} random mappings)\n",
                       as_table(columns_of_mix(), m.parts), percent(m.remaining / 100, 2), m.mappings);
}

base::json as_json(const mix_estimate& m) {
    return {
        {"parts", as_array(columns_of_mix(), m.parts)}, {"remaining_percent", m.remaining}, {"mappings", m.mappings}};
}

}  // namespace rubato::command
