// rubato model: what does it cost by a formula, in time, energy and memory, and which algorithm is best in what?

#include "base/core/text.hpp"
#include "base/files/output_file.hpp"
#include "command/cli/columns.hpp"
#include "command/cli/work_estimate.hpp"
#include "rubato/simulate.hpp"
#include "schedules/draw/cost_pictures.hpp"
#include "simulator/formulas/rating.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

namespace rubato::command {
namespace {

struct model_options {
    std::string what{};
    std::int32_t ranks = 0;
    std::string bytes{};
    std::int32_t segments = 0;  ///< 0: not given
    std::int32_t radix = 0;     ///< 0: not given
    std::string model_text = "infiniband2008";
    std::string energy{};
    std::string memory{};
    std::string map{};
    std::string svg{};
    bool all = false;
    bool json = false;
};

struct model_setting {
    collective what{};
    model costs{};
    simulator::formula_problem asked{};
    simulator::budget within{};
};

struct model_row {
    simulator::rated by_formula{};
    std::optional<time_ns> simulated{};  ///< nothing: that would take too long
};

std::optional<time_ns> simulate_one(const model_setting& s, const simulator::rated& r) {
    const algorithm& a = find_algorithm(r.by->id);
    problem p;
    p.what = s.what;
    p.ranks = r.with.ranks;
    p.segments = r.with.segments;
    p.idempotent = true;
    if (r.with.radix > 0) p.radix = {r.with.radix};
    if (!is_quick(work_to_simulate(a, p))) return std::nullopt;
    const std::vector<schedule> all = build_all(a, p);
    const layout sizes = layout::uniform(r.with.bytes);
    const std::vector<time_ns> arrivals(all.size());
    return std::ranges::max(simulate(s.costs, all, std::span(&sizes, 1), arrivals).exits);
}

/// Each algorithm with the radix and the number of segments that are fastest, or with all of them.
std::vector<model_row> rows_of(const model_setting& s, const std::vector<simulator::rated>& all, bool every) {
    std::vector<model_row> rows;
    for (const simulator::rated& r : all) {
        const auto same = [&r](const model_row& row) { return row.by_formula.by == r.by; };
        if (every || std::ranges::none_of(rows, same)) rows.push_back({r, simulate_one(s, r)});
    }
    return rows;
}

time_ns nearest(double ns) { return time_ns(std::llround(ns)); }
std::int64_t whole(double bytes) { return std::llround(bytes); }

/// "bcast/binary:3 in 8 segments"
std::string name_of(const simulator::rated& r) {
    std::string name(r.by->id);
    if (r.with.radix > 0) name += fmt::format(":{}", r.with.radix);
    if (!find_algorithm(r.by->id).segmented) return name;
    return fmt::format("{} in {}", name, base::counted(r.with.segments, "segment"));
}

std::string fit_text(const simulator::formula& f) {
    const std::string else_within = fmt::format("else within about {}", percent(f.within, 0));
    switch (f.fit) {
        case simulator::formula_fit::always: return "exact";
        case simulator::formula_fit::powers_of_two: return "exact for 2^n ranks, " + else_within;
        case simulator::formula_fit::only_powers_of_two: return "exact, only for 2^n ranks";
        case simulator::formula_fit::complete_trees: return "exact for complete trees, " + else_within;
        case simulator::formula_fit::whole_vectors: return "exact for N = 1, " + else_within;
        case simulator::formula_fit::nearly: return fmt::format("within about {}", percent(f.within, 0));
    }
    return "";
}

/// What is best in what, and the fastest within the budget.
std::string verdict(const model_setting& s, const std::vector<simulator::rated>& all) {
    const simulator::rated& fastest = all.front();
    std::string text = fmt::format("fastest: {}\nleast energy: {}\nleast memory: {}\n", name_of(fastest),
                                   name_of(simulator::best_by(all, simulator::metric::energy)),
                                   name_of(simulator::best_by(all, simulator::metric::memory)));
    if (!s.within.energy_j && !s.within.memory) return text;
    const simulator::rated* r = simulator::fastest_within(all, s.within);
    if (r == nullptr) return text + "within the budget: none\n";
    return text + fmt::format("fastest within the budget: {}, {:.3f} times as long as the fastest\n", name_of(*r),
                              fastest.value.time_ns > 0 ? r->value.time_ns / fastest.value.time_ns : 1);
}

std::string problem_text(const model_setting& s) {
    const std::string size = traits(s.what).moves_data() ? fmt::format(", s = {}", format_bytes(s.asked.bytes)) : "";
    return base::counted(s.asked.ranks, "rank") + size;
}

columns<model_row> columns_of_costs(const model_setting& s) {
    const auto joules = [](double j) { return cell(format_energy(j), j); };
    const auto of_formula = [](auto what) {
        return [what](const model_row& r) { return cell(r.by_formula.by->*what); };
    };
    return {
        {"ALGORITHM", "id", of_formula(&simulator::formula::id)},
        {"", "skeleton", of_formula(&simulator::formula::skeleton)},
        {">RADIX", "radix",
         [](const model_row& r) {
             const std::int32_t radix = r.by_formula.with.radix;
             return radix > 0 ? std::optional(radix) : std::nullopt;
         }},
        {">SEGMENTS", "segments",
         [](const model_row& r) {
             const std::uint32_t n = r.by_formula.with.segments;
             return cell(find_algorithm(r.by_formula.by->id).segmented ? fmt::format("{}", n) : "-", n);
         }},
        {">TIME", "time_ns",
         [](const model_row& r) {
             const double ns = r.by_formula.value.time_ns;
             return cell(format_time(nearest(ns)), ns);
         }},
        {">SIMULATED", "simulated_ns", [](const model_row& r) { return r.simulated; }},
        {">/SIMULATED", "",
         [](const model_row& r) {
             return only_text(r.simulated ? ratio_text(nearest(r.by_formula.value.time_ns), *r.simulated) : "-");
         }},
        {"", "exact",
         [](const model_row& r) { return cell("", simulator::is_exact(*r.by_formula.by, r.by_formula.with)); }},
        {">OVERHEAD", "overhead_ns",
         [](const model_row& r) {
             return cell(format_time(nearest(r.by_formula.overhead_ns)), r.by_formula.overhead_ns);
         }},
        {">ENERGY", "energy_j", [=](const model_row& r) { return joules(r.by_formula.energy_j()); }},
        {">DYNAMIC", "dynamic_j", [=](const model_row& r) { return joules(r.by_formula.dynamic_j); }},
        {"", "static_j", [=](const model_row& r) { return joules(r.by_formula.static_j); }},
        {">MEMORY", "memory_bytes", [](const model_row& r) { return bytes_cell(whole(r.by_formula.memory)); }},
        {"", "messages", [](const model_row& r) { return whole(r.by_formula.value.messages); }},
        {"", "bytes", [](const model_row& r) { return whole(r.by_formula.value.bytes); }},
        {"FRONT", "pareto",
         [](const model_row& r) { return cell(r.by_formula.on_front ? "yes" : "-", r.by_formula.on_front); }},
        {"", "within_budget", [&s](const model_row& r) { return cell("", s.within.allows(r.by_formula)); }},
        {"", "formula", of_formula(&simulator::formula::time)},
    };
}

std::string as_text(const model_setting& s, const std::vector<simulator::rated>& all,
                    const std::vector<model_row>& rows) {
    table forms{{"ALGORITHM", "SKELETON", "TIME", "DYNAMIC ENERGY", "MEMORY", "TIME IS"}};
    for (const model_row& row : rows) {
        const simulator::formula& f = *row.by_formula.by;
        const auto id_of = [](const std::vector<std::string>& line) -> const std::string& { return line.front(); };
        if (std::ranges::find(forms, f.id, id_of) != forms.end()) continue;
        forms.push_back({std::string(f.id), std::string(f.skeleton.empty() ? "-" : f.skeleton), std::string(f.time),
                         std::string(f.energy), std::string(f.memory), fit_text(f)});
    }
    return fmt::format("{}: {}, model {}\n\n{}\n{}\n{}", traits(s.what).name, problem_text(s), network_text(s.costs),
                       as_table(columns_of_costs(s), rows), verdict(s, all), align(forms));
}

model_setting make_setting(const CLI::App& app, const model_options& o) {
    model_setting s;
    s.what = parse_collective(o.what);
    s.costs = parse_model(o.model_text);
    std::vector<const algorithm*> known;
    for (const simulator::formula& f : simulator::formulas(s.costs))
        if (const algorithm& a = find_algorithm(f.id); a.what == s.what) known.push_back(&a);
    if (known.empty())
        throw error(
            fmt::format("no closed forms of {} under this kind of model", o.what),
            "loggp5 has them for all but neighbour collectives, loggp and logfgp for barrier, bcast and allreduce",
            "'rubato sim' simulates it");
    refuse_unused(app, known);
    problem p;
    p.what = s.what;
    p.ranks = o.ranks;
    s.asked = {o.ranks, chunk_of(size_of(o.bytes, s.what), p), static_cast<std::uint32_t>(o.segments), o.radix};
    if (!o.energy.empty()) s.within.energy_j = parse_energy(o.energy);
    if (!o.memory.empty()) s.within.memory = static_cast<double>(parse_bytes(o.memory));
    return s;
}

/// What is printed, and what is drawn if a picture is wanted.
struct model_answer {
    std::string text{};
    std::string picture{};
};

std::string front_picture(const model_setting& s, const std::vector<simulator::rated>& all) {
    std::vector<schedules::three_costs> costs;
    costs.reserve(all.size());
    for (const simulator::rated& r : all) {
        costs.push_back({name_of(r), r.value.time_ns, r.energy_j(), r.memory, r.on_front,
                         std::array{format_time(nearest(r.value.time_ns)), format_energy(r.energy_j()),
                                    format_bytes(whole(r.memory))}});
    }
    return schedules::draw_front(fmt::format("{}: time, energy and memory, {}", traits(s.what).name, problem_text(s)),
                                 "by closed forms under " + network_text(s.costs), costs);
}

// The map: the best algorithm over numbers of ranks and sizes.

struct map_cell {
    std::int32_t ranks = 0;
    std::int64_t bytes = 0;
    simulator::rated best{};
};

/// Powers of two up to the ranks that were asked for and so many bytes: by size, then by ranks.
std::vector<map_cell> make_map(const model_setting& s, simulator::metric by, std::int64_t most_bytes) {
    std::vector<map_cell> cells;
    for (std::int64_t bytes = std::min<std::int64_t>(most_bytes, 1); bytes <= most_bytes;
         bytes = std::max<std::int64_t>(2 * bytes, 1)) {
        for (std::int64_t ranks = 2; ranks <= s.asked.ranks; ranks *= 2) {
            problem p;
            p.what = s.what;
            p.ranks = static_cast<std::int32_t>(ranks);
            simulator::formula_problem q = s.asked;
            q.ranks = p.ranks;
            q.bytes = chunk_of(bytes, p);
            cells.push_back({p.ranks, bytes, simulator::best_by(simulator::rate(s.costs, s.what, q), by)});
        }
    }
    return cells;
}

/// The algorithms of a map, in the order in which they appear, and where each is best.
struct best_ids {
    std::vector<std::string> names{};
    std::vector<std::size_t> of_cells{};
};

best_ids ids_of(const std::vector<map_cell>& cells) {
    best_ids all;
    for (const map_cell& c : cells) {
        const auto known = std::ranges::find(all.names, c.best.by->id);
        all.of_cells.push_back(static_cast<std::size_t>(known - all.names.begin()));
        if (known == all.names.end()) all.names.emplace_back(c.best.by->id);
    }
    return all;
}

/// Sizes down, ranks across, a letter for each algorithm, and what the letters mean.
std::string map_text(const std::vector<map_cell>& cells) {
    const best_ids ids = ids_of(cells);
    table lines;
    std::vector<std::string> head{">BYTES"};
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const map_cell& c = cells[i];
        if (lines.empty() || c.ranks == cells.front().ranks) lines.push_back({format_bytes(c.bytes)});
        if (lines.size() == 1) head.push_back(fmt::format(">{}", c.ranks));
        lines.back().push_back(schedules::map_letter(ids.of_cells[i]));
    }
    lines.insert(lines.begin(), head);
    std::string legend;
    for (std::size_t i = 0; i < ids.names.size(); ++i)
        legend += fmt::format("{}: {}\n", schedules::map_letter(i), ids.names[i]);
    return align(lines) + '\n' + legend;
}

/// The same as a picture.
std::string map_picture(const std::vector<map_cell>& cells, const std::string& title, const std::string& subtitle) {
    best_ids ids = ids_of(cells);
    schedules::cost_map m{title, "by closed forms under " + subtitle, "ranks", "bytes"};
    for (const map_cell& c : cells) {
        if (c.ranks == cells.front().ranks) m.rows.push_back(format_bytes(c.bytes));
        if (m.rows.size() == 1) m.columns.push_back(fmt::format("{}", c.ranks));
    }
    m.names = std::move(ids.names);
    m.best = std::move(ids.of_cells);
    return schedules::draw_map(m);
}

std::string map_json(const std::vector<map_cell>& cells, simulator::metric by) {
    auto out = base::json::array();
    for (const map_cell& c : cells)
        out.push_back({{"ranks", c.ranks},
                       {"bytes", c.bytes},
                       {"id", c.best.by->id},
                       {"radix", c.best.with.radix > 0 ? base::json(c.best.with.radix) : nullptr},
                       {"segments", c.best.with.segments},
                       {"metric", simulator::metric_names[static_cast<std::size_t>(by)]},
                       {"value", c.best.by_metric(by)}});
    return pretty(out);
}

model_answer map_of(const model_options& o, const model_setting& s) {
    if (s.within.energy_j || s.within.memory || o.all)
        throw error("--map with a budget or --all", "a map shows the best algorithm of each problem",
                    "leave the others out");
    if (o.ranks < 2) throw error("a map of one rank", "it has no columns", "give more ranks, such as --ranks 1024");
    const simulator::metric by = simulator::parse_metric(o.map);
    const std::vector<map_cell> cells = make_map(s, by, size_of(o.bytes, s.what));
    model_answer a;
    a.text = o.json ? map_json(cells, by)
                    : fmt::format("{}: the best by {}, sizes down, ranks across, model {}\n\n{}", o.what, o.map,
                                  network_text(s.costs), map_text(cells));
    if (!o.svg.empty())
        a.picture = map_picture(cells, fmt::format("{}: the best by {}", o.what, o.map), network_text(s.costs));
    return a;
}

model_answer answer(const CLI::App& app, const model_options& o) {
    const model_setting s = make_setting(app, o);
    if (!o.map.empty()) return map_of(o, s);
    const std::vector<simulator::rated> all = simulator::rate(s.costs, s.what, s.asked);
    if (o.ranks < 2 && !o.svg.empty())
        throw error("a picture of one rank", "nothing costs anything there", "give more ranks, such as --ranks 64");
    const std::vector<model_row> rows = rows_of(s, all, o.all);
    return {o.json ? as_array(columns_of_costs(s), rows).dump(2) + '\n' : as_text(s, all, rows),
            o.svg.empty() ? "" : front_picture(s, all)};
}

}  // namespace

void add_model(CLI::App* app, int&) {
    auto o = std::make_shared<model_options>();
    require(add_value(*app, "COLLECTIVE", o->what, "", "such as bcast"));
    add_integer(*app, "-p,--ranks", o->ranks, "number of ranks", 1, 1 << 20, "how many ranks there are");
    require(*app, "--ranks");
    add_bytes(*app, o->bytes);
    add_integer(*app, "-s,--segments", o->segments, "number of segments", 1, 1 << 20,
                "how many pieces a vector is cut into, by algorithms that cut vectors");
    add_integer(*app, "--radix", o->radix, "radix", 1, 1 << 20,
                "degree of a tree, ways of a dissemination, or how many sends a message takes");
    add_value(*app, "--model", o->model_text, "MODEL",
              "cost model: loggp5:L=6us,o=4.7us,G=0.73ns[,e=16.5uJ,E=8.1nJ,static=0.5W,descriptor=32], loggp:...,\n"
              "a preset of these kinds, or file:FILE (default: infiniband2008)");
    add_value(*app, "--energy", o->energy, "ENERGY", "budget: no more energy than this, such as 5mJ");
    add_value(*app, "--memory", o->memory, "SIZE", "budget: no more descriptor memory than this on any rank");
    add_flag(*app, "--all", o->all, "print every radix and number of segments that was tried, not only the fastest");
    add_value(*app, "--map", o->map, "METRIC",
              "print the best algorithm by time, overhead, energy or memory for powers of two up to --ranks and\n"
              "--bytes");
    add_value(*app, "--svg", o->svg, "FILE", "also draw the map or, without --map, all ways by their three costs");
    add_flag(*app, "--json", o->json, "print an array with an object per row, or per field of the map");
    add_footer(*app, R"(
A message of s bytes takes L + 2o + s G and keeps its sender busy for o + s G; computing is free, and all ranks
arrive together (Hoefler & Moor 2014). Energy: e per message, E per byte, and the static power of all ranks.
Memory: a descriptor per message, on the rank that sends most. Overhead: the time if the network cost nothing.
In formulas P: ranks, s: bytes of the vector or of a chunk, x = s G, N: segments, n = ceil(log2 P), h: levels
of a tree below its root, k: radix, D: the depths of all ranks in the tree, summed up, S: the chunks that a rank
of each level sends, summed up. The formulas of trees are those of complete ones; times are computed for the
trees that there are. Skeleton: the paper's abbreviation, with P if personalised. Under loggp and
logfgp only a few algorithms have formulas (Hoefler 2008, III.3.1): x = (s-1) G, and combining takes c per byte;
o' = omin, and z(i) is i or, if that is negative, 0.
Operators commute, and are idempotent where an algorithm needs that.
How far times are off (within about ...) was found with up to 33 ranks and 32 segments; with more it may be
a few percent more.
/Simulated: as a multiple of the simulated time. Front: no other algorithm or number of segments is better in
time, energy or memory and as good in the others. Without --segments, all powers of two up to 1024 are tried,
and without --radix some from 1 to 32.
Examples:
  rubato model allreduce --ranks 64 --bytes 8
  rubato model bcast --ranks 64 --bytes 1MiB --memory 1KiB
  rubato model bcast --ranks 1024 --bytes 1MiB --map energy --svg map.svg
  rubato model bcast --ranks 64 --bytes 1MiB --svg front.svg
  rubato model alltoall --ranks 64 --bytes 64KiB --model loggp5:L=2us,o=1us,G=0.5ns --json)");
    when_called(*app, [o, app] {
        const base::output_file picture(o->svg);
        const model_answer a = answer(*app, *o);
        if (!o->svg.empty()) picture.write(a.picture);
        write_out(a.text);
    });
}

}  // namespace rubato::command
