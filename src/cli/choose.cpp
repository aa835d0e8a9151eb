// rubato choose: which algorithm, and why?
#include "rubato/choose.hpp"
#include "cli/command.hpp"
#include "cli/measured_natives.hpp"
#include "cli/network_options.hpp"
#include "cli/parallel.hpp"
#include "core/text.hpp"
#include "rubato/arrival.hpp"
#include "rubato/tuned_rules.hpp"
#include "simulate/at_scale.hpp"
#include "simulate/bound.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>

namespace rubato::cli {
namespace {

struct choose_options {
    std::string what{};
    problem_options problem{};
    std::string bytes{};
    std::string model_text = "curie";
    std::string inside_text{};
    network_options network{};
    std::vector<std::string> measured{};
    std::string rules{};
    bool early = false;
    bool all = false;
    bool json = false;
};

/// What was chosen, and the numbers behind the choice.
struct choosing {
    problem asked{};
    time_ns last{};   ///< arrival
    time_ns bound{};  ///< no algorithm can end earlier
    std::vector<candidate> ranked{};
    std::string rule{};                        ///< that decided; empty: none
    std::vector<std::string_view> left_out{};  ///< algorithms that were not simulated
};

/// What messages cost.
struct choice_costs {
    model network{};
    std::optional<model> inside{};
    std::optional<placed_ranks> cables{};
    std::int64_t chunk = 0;

    time_ns end_on_cables(const algorithm& a, const problem& p) const {
        const layout sizes = layout::uniform(chunk);
        shape_table ranks = shapes_of(a, p, std::span(&sizes, 1));
        const simulation_options how{false, a.early, p.hosts, inside ? &*inside : nullptr};
        return std::ranges::max(
            topology::simulate_on(cables->routing(), cables->where, network, ranks, p.arrivals, how).exits);
    }
    std::vector<candidate> choose(const problem& p, std::vector<candidate> among) const {
        rubato::end_on_cables on;
        if (cables) on = [this](const algorithm& a, const problem& q) { return end_on_cables(a, q); };
        std::vector<candidate> ranked;
        for_each_in_parallel(1, "candidates are simulated", [&](std::size_t) {
            ranked = rubato::choose(p, chunk, network, std::move(among), inside ? &*inside : nullptr, on);
        });
        return ranked;
    }
};

/// What a rule says goes first, if there is one.
void follow_rule(choosing& d, const choose_options& o, const choice_costs& c) {
    const rules by = rules::read(o.rules);
    const rule* const found = by.find(d.asked, c.chunk);
    if (found == nullptr) return;
    problem planned = d.asked;
    by.prepare(*found, planned, c.chunk);
    candidate named;
    named.use = found->use;
    named.segment = found->segment;
    named.segments = planned.segments;
    named.round_time = planned.round_time;
    std::string cut = found->segment > 0 ? fmt::format("@{}", format_bytes(found->segment)) : "";
    std::erase(cut, ' ');
    named.name = fmt::format("{}{}", found->use->id, cut);
    d.rule = fmt::format("line {} of {}", found->line, o.rules);
    std::erase_if(d.ranked, [&named](const candidate& other) { return other.name == named.name; });
    const std::vector<candidate> timed = c.choose(d.asked, {named});
    if (timed.empty())
        throw error(fmt::format("{}: {}", d.rule, named.name), "it cannot be simulated", "give fewer ranks");
    d.ranked.insert(d.ranked.begin(), timed.front());
}

choosing decide(const CLI::App& app, const choose_options& o) {
    choosing d;
    d.asked = o.problem.make(parse_collective(o.what));
    refuse_unused(app, parse_algorithms(o.what));
    d.asked.arrivals = parse_arrivals(o.problem.arrivals, d.asked.ranks);
    choice_costs c;
    c.network = parse_model(o.model_text);
    c.cables = o.network.place(d.asked);
    if (c.cables) topology::check_for_cables(c.network);
    c.inside = parse_model_inside(o.inside_text, c.network, d.asked);
    if (c.cables) o.network.put_in_order(d.asked, *c.cables);
    std::optional<std::uint32_t> segments;
    if (o.problem.segments > 0) segments = d.asked.segments;
    const std::int64_t bytes = size_of(o.bytes, d.asked.what);
    c.chunk = chunk_of(bytes, d.asked);
    std::vector<candidate> among = candidates_for(d.asked, c.chunk, c.network, o.early, segments, c.cables.has_value());
    for (candidate& native : measured_natives(o.measured, d.asked, bytes)) among.push_back(std::move(native));
    d.ranked = c.choose(d.asked, among);
    if (!o.rules.empty()) follow_rule(d, o, c);
    if (d.ranked.empty()) {
        if (c.cables && !among.empty())
            throw error(fmt::format("nothing to choose for {} on a network", o.what),
                        fmt::format("each algorithm has more than {} steps", most_steps_on_cables),
                        "give fewer ranks, or leave --network out");
        throw error(fmt::format("nothing to choose for {}", o.what), "no algorithm can solve this problem",
                    "'rubato sim' tells why each of them cannot");
    }
    for (const candidate& a : among)
        if (a.use != nullptr && std::ranges::find(d.ranked, a.use, &candidate::use) == d.ranked.end() &&
            std::ranges::find(d.left_out, a.use->id) == d.left_out.end())
            d.left_out.push_back(a.use->id);
    const hockney linear = linear_costs(c.network);
    d.last = std::ranges::max(d.asked.arrivals);
    d.bound = earliest_end(d.asked.what, d.asked.arrivals, d.asked.root, bytes,
                           {time_ns(std::llround(linear.alpha)), linear.beta});
    return d;
}

std::string cut_text(const candidate& c) { return c.segment == 0 ? "-" : format_bytes(c.segment); }
std::string radix_text(const candidate& c) { return c.radix > 0 ? fmt::format(":{}", c.radix) : ""; }
std::string_view id_of(const candidate& c) { return c.use != nullptr ? c.use->id : std::string_view(c.name); }
std::string_view source_of(const candidate& c) {
    return c.use == nullptr ? "measured" : c.extrapolated ? "from fewer ranks" : "simulated";
}
/// Why the first candidate was chosen, in one sentence.
std::string reason(const choosing& d) {
    const candidate& first = d.ranked.front();
    if (!d.rule.empty()) return d.rule + " says so";
    const auto soonest = std::ranges::min_element(d.ranked, {}, &candidate::end);
    if (d.ranked.size() == 1) return "it is the only one that can solve this";
    if (soonest->end == first.end) return "it ends first";
    const std::string near = fmt::format("it ends nearly as soon as {}", soonest->name);
    if (first.use == nullptr) return near + ", and was measured";
    if (first.waits != soonest->waits) return near + ", and none of its messages has to wait for its receiver";
    if (first.partner_class() < soonest->partner_class())
        return fmt::format("{}, and its ranks have fewer partners ({:.1f} instead of {:.1f})", near, first.partners,
                           soonest->partners);
    return fmt::format("{}, with fewer messages ({:.0f} instead of {:.0f} per rank)", near, first.messages,
                       soonest->messages);
}

/// Without `all`, each algorithm only with the best of its radices and segment sizes.
std::vector<const candidate*> rows_of(const choosing& d, bool all) {
    std::vector<const candidate*> rows;
    for (const candidate& c : d.ranked)
        if (all || std::ranges::none_of(rows, [&](const candidate* r) { return id_of(*r) == id_of(c); }))
            rows.push_back(&c);
    return rows;
}

std::string as_text(const choose_options& o, const choosing& d) {
    const time_ns begin = std::ranges::min(d.asked.arrivals);
    const time_ns best = std::ranges::min(d.ranked, {}, &candidate::end).end;
    std::vector<std::vector<std::string>> lines{
        {"ALGORITHM", "SEGMENTS OF", "RUN TIME", "TAIL", "/BOUND", "/BEST", "PARTNERS", "MESSAGES", "HOW"}};
    for (const candidate* c : rows_of(d, o.all)) {
        const bool known = c->use != nullptr;
        lines.push_back({std::string(id_of(*c)) + radix_text(*c), cut_text(*c), format_time(c->end - begin),
                         format_time(c->end - d.last), ratio_text(c->end - begin, d.bound - begin),
                         ratio_text(c->end - begin, best - begin), known ? fmt::format("{:.1f}", c->partners) : "-",
                         known ? fmt::format("{:.0f}", c->messages) : "-", std::string(source_of(*c))});
    }
    const std::string left_out =
        d.left_out.empty() ? ""
                           : fmt::format("Not simulated, as too slow or too large: {}.\n", fmt::join(d.left_out, ", "));
    return fmt::format("{}: {}, {}arrivals {}, model {}{}{}\n\n{}\n{}: {}.\n{}", o.what, counted(d.asked.ranks, "rank"),
                       o.bytes.empty() ? "" : o.bytes + ", ", abbreviated(o.problem.arrivals), o.model_text,
                       o.network.describe(), o.early ? ", early forms allowed" : "",
                       align(lines, {false, true, true, true, true, true, true, true, false}), d.ranked.front().name,
                       reason(d), left_out);
}

std::string as_json(const choosing& d) {
    const time_ns begin = std::ranges::min(d.asked.arrivals);
    nlohmann::ordered_json out{{"picked", d.ranked.front().name},
                               {"why", reason(d)},
                               {"bound_ns", (d.bound - begin).count()},
                               {"not_simulated", d.left_out},
                               {"candidates", nlohmann::ordered_json::array()}};
    for (const candidate& c : d.ranked) {
        out["candidates"].push_back({{"name", c.name},
                                     {"id", c.use != nullptr ? nlohmann::ordered_json(c.use->id) : nullptr},
                                     {"radix", c.radix > 0 ? nlohmann::ordered_json(c.radix) : nullptr},
                                     {"segments", c.segments},
                                     {"segment_bytes", c.segment},
                                     {"run_time_ns", (c.end - begin).count()},
                                     {"tail_ns", (c.end - d.last).count()},
                                     {"how", source_of(c)}});
        if (c.use == nullptr) continue;
        out["candidates"].back()["partners"] = c.partners;
        out["candidates"].back()["messages"] = c.messages;
        if (c.use->uses_round_time()) out["candidates"].back()["round_time_ns"] = c.round_time.count();
    }
    return out.dump(2) + '\n';
}

}  // namespace

void add_choose(CLI::App& command, int&) {
    auto o = std::make_shared<choose_options>();
    CLI::App* app = command.add_subcommand("choose", "say which algorithm suits a problem, a network and arrivals");
    app->add_option("COLLECTIVE", o->what, "such as reduce")->required();
    o->problem.add_to(*app);
    app->add_option("-b,--bytes", o->bytes, "size of the vector, or of the buffer that has a chunk for each rank")
        ->type_name("SIZE");
    add_models(*app, o->model_text, o->inside_text);
    o->network.add_to(*app);
    app->add_flag("--early", o->early, "also consider early forms, which begin before their rank arrives");
    app->add_option("--measured", o->measured,
                    "files of 'rubato bench': the MPI library's own algorithms take part as they were measured")
        ->type_name("FILE");
    app->add_option("--rules", o->rules, "a file of 'rubato tune': what it names is chosen")->type_name("FILE");
    app->add_flag("--all", o->all, "print every segment size that was tried, not only the best");
    app->add_flag("--json", o->json, "print an object with every candidate, the chosen one first");
    app->footer(
        "Every algorithm that can solve the problem is simulated, except algorithms that choose while they run and "
        "those\n"
        "whose ranks may get different bits ('rubato algorithms'): Rubato uses both only where they are named.\n"
        "Algorithms that cut vectors are tried with segments of 64 KiB down to 4 KiB (or with --segments segments), "
        "as\n"
        "long as smaller ones may pay; two_level algorithms need --hosts. Several algorithms may end within 5 % of "
        "the\n"
        "first, counted from the last arrival. Of these, the choice is the one that depends least on what the model\n"
        "leaves out: no messages that wait for their receiver, few partners per rank, few messages.\n"
        "With too many ranks or steps to simulate, the time follows from simulations of fewer ranks. On a network, "
        "what\n"
        "has more than 1000000 steps is not simulated. There, algorithms with nearer partners (bine) take part, too.\n"
        "Run time: from the first arrival to the last exit. Tail: from the last arrival on. /Bound: as a multiple of\n"
        "what no algorithm can beat that sends one message at a time (docs/measuring.md). /Best: as a multiple of the\n"
        "soonest end.\n"
        "--measured: the median of all calls of native algorithms with the same ranks and root, with arrivals that\n"
        "differ by at most a tenth of their spread, and of the same size, or interpolated between two sizes.\n"
        "'rubato report FILE --model MODEL' tells whether such choices are good.\n"
        "Examples:\n"
        "  rubato choose reduce --ranks 16 --bytes 512KiB --arrivals single:rank=15,delay=100ms\n"
        "  rubato choose reduce --ranks 16 --bytes 512KiB --rules cluster.rules\n"
        "  rubato choose allreduce --ranks 16 --bytes 1MiB --network fattree:crossbar=8,ports=16 --mapping random:1\n"
        "  rubato choose gather --ranks 64 --bytes 4MiB --model gige --early --json\n"
        "  rubato choose reduce --ranks 16 --bytes 512KiB --model file:cluster.model --measured measured.jsonl");
    app->callback([o, app] {
        const choosing d = decide(*app, *o);
        write_out(o->json ? as_json(d) : as_text(*o, d));
    });
}

}  // namespace rubato::cli
