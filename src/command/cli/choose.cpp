// rubato choose: which algorithm, and why?
#include "rubato/choose.hpp"
#include "base/core/text.hpp"
#include "command/cli/choose_program.hpp"
#include "command/cli/columns.hpp"
#include "command/cli/machine.hpp"
#include "command/cli/parallel.hpp"
#include "reports/report/analysis.hpp"
#include "rubato/arrival.hpp"
#include "rubato/tuned_rules.hpp"
#include "simulator/simulate/at_scale.hpp"
#include "simulator/simulate/bound.hpp"

#include <algorithm>
#include <cmath>

namespace rubato::command {
namespace {

/// No rank arrives earlier or later by more than a tenth of the spread.
bool similar(std::vector<time_ns> a, std::vector<time_ns> b) {
    const time_ns spread = std::max(absolute_imbalance(a), absolute_imbalance(b));
    const time_ns shift = std::ranges::min(a) - std::ranges::min(b);
    for (std::size_t r = 0; r < a.size(); ++r)
        if (std::chrono::abs(a[r] - b[r] - shift) > spread / 10) return false;
    return true;
}

bool fits(const reports::analysed_case& c, const problem& p) {
    const collective_traits& t = traits(p.what);
    if (c.in.collective != t.name || c.in.ranks != p.ranks || (t.rooted && c.in.root != p.root.value)) return false;
    try {
        return similar(parse_arrivals(c.pattern, p.ranks), p.arrivals);
    } catch (const error&) {
        return false;  // a trace that is not here
    }
}

/// Run times in nanoseconds of all calls by size, of one contestant.
using times_by_size = std::map<std::int64_t, std::vector<double>>;

std::optional<double> at(const times_by_size& measured, std::int64_t bytes) {
    const auto above = measured.lower_bound(bytes);
    if (above == measured.end()) return std::nullopt;
    const double time_above = base::median(above->second);
    if (above->first == bytes) return time_above;
    if (above == measured.begin()) return std::nullopt;
    const auto below = std::prev(above);
    const double time_below = base::median(below->second);
    const double share = static_cast<double>(bytes - below->first) / static_cast<double>(above->first - below->first);
    return time_below + share * (time_above - time_below);
}

/// The native algorithms measured with the problem's collective, ranks, root and (nearly) arrivals. Their time is the
/// median of all calls with `bytes`, in any conditions, or interpolated between the sizes around it. Throws if a file
/// cannot be read.
std::vector<candidate> measured_natives(const std::vector<std::string>& files, const problem& p, std::int64_t bytes) {
    if (files.empty()) return {};
    std::map<std::string, times_by_size> natives;
    const reports::analysis a = reports::group(reports::read(files));
    for (const reports::analysed_case& c : a.cases) {
        if (!fits(c, p)) continue;
        for (const reports::entry& e : c.entries) {
            if (!e.native() || !e.measured()) continue;
            for (const reports::call& k : e.calls) natives[e.name][c.bytes].push_back(k.run_time);
        }
    }
    std::vector<candidate> found;
    for (const auto& [name, measured] : natives) {
        const auto run = at(measured, bytes);
        if (!run) continue;
        candidate c;
        c.name = name;
        c.end = std::ranges::min(p.arrivals) + time_ns(std::llround(*run));
        found.push_back(std::move(c));
    }
    return found;
}

struct choose_options {
    std::string what{};
    std::string program{};
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
        schedules::shape_table ranks = simulator::shapes_of(a, p, std::span(&sizes, 1));
        const simulation_options how{false, a.early, p.hosts, inside ? &*inside : nullptr};
        return std::ranges::max(cables->simulate(network, ranks, p.arrivals, how).exits);
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
    d.bound = simulator::earliest_end(d.asked.what, d.asked.arrivals, d.asked.root, bytes,
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
std::vector<candidate> rows_of(const choosing& d, bool all) {
    std::vector<candidate> rows;
    for (const candidate& c : d.ranked)
        if (all || std::ranges::none_of(rows, [&](const candidate& r) { return id_of(r) == id_of(c); }))
            rows.push_back(c);
    return rows;
}

/// Partners, messages and rounds are known of what can be simulated.
columns<candidate> columns_of(const choosing& d) {
    const time_ns begin = std::ranges::min(d.asked.arrivals);
    const time_ns best = std::ranges::min(d.ranked, {}, &candidate::end).end;
    const auto run = [begin](const candidate& c) { return c.end - begin; };
    const auto if_known = [](const candidate& c, int digits, double value) {
        return c.use != nullptr ? cell(fmt::format("{:.{}f}", value, digits), value) : cell();
    };
    return {
        {"", "name", [](const candidate& c) { return cell(c.name); }},
        {"", "id", [](const candidate& c) { return c.use ? std::optional(c.use->id) : std::nullopt; }},
        {"ALGORITHM", "", [](const candidate& c) { return only_text(std::string(id_of(c)) + radix_text(c)); }},
        {"", "radix", [](const candidate& c) { return c.radix > 0 ? std::optional(c.radix) : std::nullopt; }},
        {"", "segments", [](const candidate& c) { return cell(c.segments); }},
        {">SEGMENTS OF", "segment_bytes", [](const candidate& c) { return cell(cut_text(c), c.segment); }},
        {">RUN TIME", "run_time_ns", run},
        {">TAIL", "tail_ns", [last = d.last](const candidate& c) { return c.end - last; }},
        {">/BOUND", "",
         [=, bound = d.bound](const candidate& c) { return only_text(ratio_text(run(c), bound - begin)); }},
        {">/BEST", "", [=](const candidate& c) { return only_text(ratio_text(run(c), best - begin)); }},
        {"", "how", [](const candidate& c) { return cell(source_of(c)); }},
        {">PARTNERS", "partners", [=](const candidate& c) { return if_known(c, 1, c.partners); }},
        {">MESSAGES", "messages", [=](const candidate& c) { return if_known(c, 0, c.messages); }},
        {"HOW", "", [](const candidate& c) { return only_text(std::string(source_of(c))); }},
        {"", "round_time_ns",
         [](const candidate& c) { return c.use != nullptr && c.use->uses_round_time() ? cell(c.round_time) : cell(); }},
    };
}

std::string as_text(const choose_options& o, const choosing& d) {
    const std::string left_out =
        d.left_out.empty() ? ""
                           : fmt::format("Not simulated, as too slow or too large: {}.\n", fmt::join(d.left_out, ", "));
    return fmt::format("{}: {}, {}arrivals {}, model {}{}{}\n\n{}\n{}: {}.\n{}", o.what,
                       base::counted(d.asked.ranks, "rank"), o.bytes.empty() ? "" : o.bytes + ", ",
                       abbreviated(o.problem.arrivals), o.model_text, o.network.describe(),
                       o.early ? ", early forms allowed" : "", as_table(columns_of(d), rows_of(d, o.all)),
                       d.ranked.front().name, reason(d), left_out);
}

std::string as_json(const choosing& d) {
    return pretty({{"picked", d.ranked.front().name},
                   {"why", reason(d)},
                   {"bound_ns", d.bound - std::ranges::min(d.asked.arrivals)},
                   {"not_simulated", d.left_out},
                   {"candidates", as_array(columns_of(d), d.ranked)}});
}

/// What --program does not go with.
void choose_given(const CLI::App& app, const choose_options& o) {
    refuse_given(app,
                 {"COLLECTIVE", "--bytes", "--arrivals", "--root", "--segments", "--hosts", "--model-inside",
                  "--network", "--early", "--measured", "--rules", "--all"},
                 "with --program", "the program says what is called, and when", "leave one of them out");
    choose_for_program(o.program, o.problem.ranks, o.model_text, o.json);
}

}  // namespace

void add_choose(CLI::App* app, int&) {
    auto o = std::make_shared<choose_options>();
    add_value(*app, "COLLECTIVE", o->what, "", "such as reduce");
    o->problem.add_to(*app);
    require(*app, "--ranks", false);  // a program may say it
    add_value(*app, "--program", o->program, "FILE",
              "what makes a whole program fastest: a text as for 'rubato sim', or a file of 'rubato exec'");
    add_bytes(*app, o->bytes);
    add_models(*app, o->model_text, o->inside_text);
    o->network.add_to(*app);
    add_flag(*app, "--early", o->early, "also consider early forms, which begin before their rank arrives");
    add_value(*app, "--measured", o->measured, "FILE",
              "files of 'rubato bench': the MPI library's own algorithms take part as they were measured");
    add_value(*app, "--rules", o->rules, "FILE", "a file of 'rubato tune': what it names is chosen");
    add_flag(*app, "--all", o->all, "print every segment size that was tried, not only the best");
    add_flag(*app, "--json", o->json, "print an object with every candidate, the chosen one first");
    add_footer(*app, R"(
Every algorithm that can solve the problem is simulated, except algorithms that choose while they run and those
whose ranks may get different bits ('rubato algorithms'): Rubato uses both only where they are named.
Algorithms that cut vectors are tried with segments of 64 KiB down to 4 KiB (or with --segments segments), as
long as smaller ones may pay; two_level algorithms need --hosts. Several algorithms may end within 5 % of the
first, counted from the last arrival. Of these, the choice is the one that depends least on what the model
leaves out: no messages that wait for their receiver, few partners per rank, few messages.
With too many ranks or steps to simulate, the time follows from simulations of fewer ranks. On a network, what
has more than 1000000 steps is not simulated. There, algorithms with nearer partners (bine) take part, too.
Run time: from the first arrival to the last exit. Tail: from the last arrival on. /Bound: as a multiple of
what no algorithm can beat that sends one message at a time (docs/measuring.md). /Best: as a multiple of the
soonest end.
--program: the algorithms with which the program's last rank ends soonest, by playing all of its calls with what
its ranks compute between them. Ranks may run ahead of each other, so these are often not those of the single
calls. Algorithms that plan by arrivals do so by each rank's mean; 'run time' is simulated as 'rubato sim' does,
which tells them the times. OTHERS: how much longer the program takes if these calls are made otherwise.
--measured: the median of all calls of native algorithms with the same ranks and root, with arrivals that
differ by at most a tenth of their spread, and of the same size, or interpolated between two sizes.
'rubato report FILE --model MODEL' tells whether such choices are good.
Examples:
  rubato choose reduce --ranks 16 --bytes 512KiB --arrivals single:rank=15,delay=100ms
  rubato choose reduce --ranks 16 --bytes 512KiB --rules cluster.rules
  rubato choose --program examples/stencil.program --model gige
  rubato choose allreduce --ranks 16 --bytes 1MiB --network fattree:crossbar=8,ports=16 --mapping random:1
  rubato choose gather --ranks 64 --bytes 4MiB --model gige --early --json
  rubato choose reduce --ranks 16 --bytes 512KiB --model file:cluster.model --measured measured.jsonl)");
    when_called(*app, [o, app] {
        if (!o->program.empty()) return choose_given(*app, *o);
        if (o->what.empty()) refuse_without("COLLECTIVE");
        if (o->problem.ranks == 0) refuse_without("--ranks");
        const choosing d = decide(*app, *o);
        write_out(o->json ? as_json(d) : as_text(*o, d));
    });
}

}  // namespace rubato::command
