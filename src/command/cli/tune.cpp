// rubato tune: which algorithm is best whatever the arrivals are, as a file for who chooses?
#include "command/cli/tune.hpp"

#include "base/files/output_file.hpp"
#include "command/cli/columns.hpp"
#include "command/cli/parallel.hpp"
#include "reports/tune/problems.hpp"
#include "reports/tune/tuning.hpp"
#include "rubato/arrival.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <set>
namespace rubato::command {
namespace {

constexpr std::size_t most_invocations = 16;  // of an operation of a program

struct tune_options {
    std::vector<std::string> what{};
    std::vector<std::string> ranks{};
    std::vector<std::string> bytes{};
    std::string model_text{};
    std::vector<std::string> arrivals{};
    std::int32_t seed = 1;
    std::vector<std::string> measured{};
    std::string program{};
    std::string format = "rubato";
    std::string regret = "worst";
    std::string margin = "10%";
    bool early = false;
    bool noncommutative = false;
    std::string output{};
    bool json = false;
};

double parse_margin(std::string_view text) {
    double percent = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, percent);
    if (failure != std::errc{} || std::string_view(stop, end) != "%" || !(percent >= 0 && percent <= 1000))
        throw error(fmt::format("--margin {}", text), "it is a share of the time of a call",
                    "give a percentage such as 10%");
    return percent / 100;
}

template <class T, class Parse>
std::vector<T> sorted_list(const std::vector<std::string>& lists, Parse parse) {
    std::set<T> all;
    for (const std::string& item : split_lists(lists)) all.insert(parse(item));
    return {all.begin(), all.end()};
}

const reports::library* library_of(const tune_options& o) {
    if (o.format == "rubato") return nullptr;
    return o.format == "openmpi" ? &reports::open_mpi() : &reports::mpich();
}

/// Throws if an option was given that changes nothing.
void check_options(const CLI::App& app, const tune_options& o) {
    const bool given_problems = o.measured.empty() && o.program.empty();
    if (!o.measured.empty() && !o.program.empty())
        throw error("--measured with --program", "problems come from one of them", "leave one out");
    for (const char* option : {"--ranks", "--bytes", "--arrivals", "--seed"})
        if (!given_problems && is_given(app, option))
            throw error(
                fmt::format("{} has no effect", option),
                fmt::format("problems and arrivals come from {}", o.measured.empty() ? "--program" : "--measured"),
                "leave it out");
    if (!o.measured.empty() && !o.model_text.empty() && o.format != "rubato")
        throw error("--model has no effect", "times come from --measured", "leave it out");
    if (!o.measured.empty() && o.format == "mpich")
        throw error("--measured with --format mpich",
                    "'rubato bench' cannot choose MPICH's algorithms, so it measured one",
                    "tune by a model, with --model");
    if (o.early && o.format != "rubato")
        throw error("--early has no effect", "MPI libraries have no early forms", "leave it out");
    if (given_problems && o.what.empty())
        throw error("nothing to tune", "no collective is named", "name some, or 'all', such as reduce bcast");
    if (given_problems && (o.ranks.empty() || o.bytes.empty()))
        throw error("nothing to tune", "rules are for numbers of ranks and sizes",
                    "give both, such as --ranks 8,16 --bytes 64KiB,1MiB");
    if (!o.arrivals.empty() && is_given(app, "--seed"))
        throw error("--seed has no effect", "--arrivals have their own", "leave it out");
}

/// In the order of the registry; "all": those of which the library has two of our algorithms.
std::vector<collective> asked_collectives(const tune_options& o) {
    std::vector<collective> chosen;
    const reports::library* const of = library_of(o);
    const bool all = std::ranges::find(o.what, "all") != o.what.end();
    for (const collective_traits& t : collectives()) {
        const bool named = std::ranges::any_of(split_lists(o.what), [&t](const std::string& n) { return n == t.name; });
        const bool possible = of != nullptr ? of->algorithms_for(t.what, 4).size() > 1 : !t.on_graph;
        if (named && !possible)
            throw error(fmt::format("{} cannot be tuned for {}", t.name, o.format),
                        of != nullptr ? "it has no two algorithms of ours that a file can choose by size"
                                      : "its graph is not known",
                        "leave it out");
        if (named || (all && possible)) chosen.push_back(t.what);
    }
    for (const std::string& name : split_lists(o.what))
        if (name != "all") (void)parse_collective(name);
    return chosen;
}

std::vector<reports::asked_problem> asked_problems(const tune_options& o, const model& network) {
    const auto ranks = sorted_list<std::int32_t>(o.ranks, [](const std::string& text) {
        return static_cast<std::int32_t>(parse_integer(text, "number of ranks", 2, 1 << 20));
    });
    std::vector<reports::asked_problem> all;
    for (const collective what : asked_collectives(o)) {
        const auto sizes =
            sorted_list<std::int64_t>(traits(what).moves_data() ? o.bytes : std::vector<std::string>{"0"},
                                      [what](const std::string& text) { return size_of(text, what); });
        for (const std::int32_t p : ranks) {
            for (const std::int64_t bytes : sizes) {
                reports::asked_problem& one = all.emplace_back(reports::asked_problem{what, p, bytes});
                const auto seed = static_cast<std::uint64_t>(o.seed);
                for (const std::string& pattern :
                     o.arrivals.empty() ? reports::usual_patterns(p, bytes, network, seed) : o.arrivals)
                    one.patterns.push_back(parse_arrivals(pattern, p));
            }
        }
    }
    return all;
}

/// Those of the program that can be tuned.
std::vector<reports::asked_problem> program_problems(const tune_options& o) {
    std::vector<reports::asked_problem> all = reports::observed_problems(o.program, most_invocations);
    const reports::library* const of = library_of(o);
    const std::vector<collective> wanted = o.what.empty() ? std::vector<collective>{} : asked_collectives(o);
    std::erase_if(all, [&](const reports::asked_problem& p) {
        return (of != nullptr && of->algorithms_for(p.what, p.ranks).size() < 2) ||
               (!o.what.empty() && std::ranges::find(wanted, p.what) == wanted.end());
    });
    if (all.empty())
        throw error(fmt::format("'{}' has nothing to tune", o.program), "it calls other collectives",
                    "'rubato report' shows what it calls");
    std::ranges::stable_sort(all, {}, [](const auto& p) { return std::tuple(p.what, p.ranks, p.bytes); });
    return all;
}

/// Of an observed program its own, if it noted one.
std::optional<model> network_of(const tune_options& o) {
    if (!o.model_text.empty()) return parse_model(o.model_text);
    if (o.measured.empty() && o.program.empty()) return parse_model("curie");
    if (o.program.empty()) return std::nullopt;
    if (const std::string own = reports::observed_model(o.program); !own.empty()) return parse_model(own);
    throw error(fmt::format("no model of the network of '{}'", o.program), "the program noted none",
                "give one with --model");
}

std::string imbalance_text(const std::optional<time_ns>& from) { return from ? format_time(*from) : "any"; }

/// A row of the table or of the JSON.
struct tuned_row {
    const reports::timed_problem* of = nullptr;
    std::optional<time_ns> imbalance{};
    std::optional<reports::pick> chosen{};
};

std::vector<tuned_row> rows_of(const std::vector<reports::decided>& all, bool classes) {
    std::vector<tuned_row> rows;
    for (const reports::decided& d : all) {
        rows.push_back({d.of, std::nullopt, d.any});
        for (const auto& c : d.classes)
            if (classes) rows.push_back({d.of, c.from, c.chosen});
    }
    return rows;
}

columns<tuned_row> columns_of_choices() {
    using reports::regret;
    const auto share = [](const regret* g, double regret::*by) { return g ? cell(percent(g->*by), g->*by) : cell(); };
    const auto own = [share](double regret::*by) {
        return [=](const tuned_row& r) { return share(r.chosen ? &r.chosen->expected : nullptr, by); };
    };
    const auto other = [share](double regret::*by) {
        return [=](const tuned_row& r) {
            return share(r.chosen && r.chosen->of_otherwise ? &*r.chosen->of_otherwise : nullptr, by);
        };
    };
    const auto otherwise = [](const tuned_row& r) {
        return r.of->otherwise ? cell(reports::to_string(*r.of->otherwise)) : cell("not known", nullptr);
    };
    return {
        {"COLLECTIVE", "collective", [](const tuned_row& r) { return traits(r.of->what).name; }},
        {">RANKS", "ranks", [](const tuned_row& r) { return r.of->ranks; }},
        {">BYTES", "bytes", [](const tuned_row& r) { return bytes_cell(r.of->bytes); }},
        {">IMBALANCE", "imbalance_ns",
         [](const tuned_row& r) { return cell(imbalance_text(r.imbalance), r.imbalance); }},
        {"", "otherwise", otherwise},
        {"CHOICE", "choice",
         [](const tuned_row& r) {
             return r.chosen ? cell(reports::to_string(r.chosen->use)) : cell("left alone", nullptr);
         }},
        {">WORST REGRET", "worst_regret", own(&regret::worst)},
        {">MEAN", "mean_regret", own(&regret::mean)},
        {"OTHERWISE", "", otherwise},
        {">WORST", "otherwise_worst_regret", other(&regret::worst)},
        {">MEAN", "otherwise_mean_regret", other(&regret::mean)},
    };
}

std::string file_text(const tune_options& o, const std::vector<reports::decided>& all,
                      const std::optional<model>& network) {
    const std::string made_by = "made by 'rubato tune'";
    if (const reports::library* of = library_of(o)) return of->file(all, made_by);
    return fmt::format("# Rubato's rules, {}: COLLECTIVE RANKS BYTES IMBALANCE ALGORITHM [SEGMENT]\n{}", made_by,
                       rubato::to_string(reports::own_rules(all, network)));
}

/// Nothing on a rank that only helped.
std::optional<std::vector<reports::timed_problem>> timed(const tune_options& o, const std::optional<model>& network,
                                                         const reports::contenders& who, const work_sharing& share) {
    if (!o.measured.empty()) {
        if (!share(0, {})) return std::nullopt;
        return reports::measured_ways(o.measured, who);
    }
    const std::vector<reports::asked_problem> problems =
        o.program.empty() ? asked_problems(o, *network) : program_problems(o);
    const auto texts = share(problems.size(), [&](std::size_t i) {
        return reports::as_text(reports::simulate_ways(problems[i], *network, who));
    });
    if (!texts) return std::nullopt;
    std::vector<reports::timed_problem> all;
    for (const std::string& t : *texts) all.push_back(reports::from_text(t));
    return all;
}

void run_tune(const CLI::App& app, const tune_options& o, const work_sharing& share) {
    check_options(app, o);
    const base::output_file file(o.output);
    const reports::demands demands{.by = o.regret == "worst" ? reports::measure::worst : reports::measure::mean,
                                   .margin = parse_margin(o.margin),
                                   .keeps_unknown = o.format != "rubato"};
    const reports::contenders who{library_of(o), o.early, !o.noncommutative};
    const std::optional<model> network = network_of(o);
    const auto problems = timed(o, network, who, share);
    if (!problems) return;
    std::vector<reports::decided> all;
    for (const reports::timed_problem& p : *problems)
        if (!p.ways.empty()) all.push_back(reports::decide(p, demands));
    const std::string text = file_text(o, all, network);
    const std::vector<tuned_row> rows = rows_of(all, o.format == "rubato");
    if (o.output.empty() && !o.json) return write_out(text);
    if (!o.output.empty()) file.write(text);
    const columns<tuned_row> shown = columns_of_choices();
    write_out(o.json ? as_array(shown, rows).dump(2) + '\n' : as_table(shown, rows));
}

std::optional<std::vector<std::string>> share_among_cores(std::size_t count,
                                                          const std::function<std::string(std::size_t)>& work) {
    std::vector<std::string> all(count);
    for_each_in_parallel(count, "tuned", [&](std::size_t i) { all[i] = work(i); });
    return all;
}

}  // namespace

void add_tune(CLI::App* app, int& status) {
    auto o = std::make_shared<tune_options>();
    add_value(*app, "COLLECTIVE", o->what, "", "such as reduce bcast, or all");
    add_value(*app, "-p,--ranks", o->ranks, "N[,N...]", "numbers of ranks, such as 8,16,32");
    add_value(*app, "-b,--bytes", o->bytes, "SIZE[,SIZE...]",
              "sizes of vectors, or of buffers that have a chunk for each rank");
    add_value(*app, "--model", o->model_text, "MODEL",
              "cost model of the network, as 'rubato sim' has it (default: curie)");
    one_value(add_value(*app, "--arrivals", o->arrivals, "PATTERN",
                        "when ranks arrive; may be given several times (default: together, one rank late, at random)"));
    add_integer(*app, "--seed", o->seed, "seed", 0, 1 << 30, "of the default's random arrivals (default: 1)");
    add_value(*app, "--measured", o->measured, "FILE", "files of 'rubato bench', instead of a model");
    add_value(*app, "--program", o->program, "FILE", "file of 'rubato exec': the program's operations and arrivals");
    add_choice(*app, "--format", o->format, {"rubato", "openmpi", "mpich"}, "FORMAT",
               "of the file: rubato, openmpi (4.1) or mpich (4.0) (default: rubato)");
    add_choice(*app, "--regret", o->regret, {"worst", "mean"}, "worst|mean",
               "what is made small: the worst regret or the mean (default: worst)");
    add_value(*app, "--margin", o->margin, "SHARE",
              "openmpi, mpich, --measured: by how much a choice must be better than the library's own (default: 10%)");
    add_flag(*app, "--early", o->early, "rubato: also early forms, which begin before their rank arrives");
    add_flag(*app, "--noncommutative", o->noncommutative, "only algorithms that keep the order of operands");
    add_value(*app, "-o,--output", o->output, "FILE",
              "the file (default: standard output, without the table of choices)");
    add_flag(*app, "--json", o->json, "print the choices as an array, instead of the table");
    add_footer(*app, R"(
For each collective, number of ranks and size, every algorithm is simulated under every pattern of arrivals
(--model), or taken as it was measured (--measured). Its regret under a pattern is the time that it loses to
the best algorithm for that pattern, as a share of the shortest call of the problem. The choice has the
smallest worst (or mean) regret. Rubato's rules also have a choice for arrivals that are nearly balanced (spread
below half of the shortest call), for late ones (up to four calls) and for very late ones; 'any' is for all.
For Open MPI and MPICH only algorithms are considered that the library has, too. A rule is written where it is
better than what the library does by itself by the margin, and slower (by 1 %) under no pattern; elsewhere the library
is left alone. A choice holds from its ranks up to the next ones, the last up to twice its ranks, and for sizes
up to halfway to the next ones.
Use: rubato exec --mode rules=FILE, rubato choose --rules FILE, communicator::use_rules;
mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename FILE;
MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=FILE. Open MPI follows its file for operators that do not commute,
too: programs that have such operators need --noncommutative.
Under mpirun the ranks share the work; the result does not depend on their number.
Examples:
  rubato tune reduce bcast --ranks 8,16 --bytes 16KiB,256KiB,4MiB --model file:cluster.model -o cluster.rules
  rubato tune all --ranks 16 --bytes 64KiB,1MiB --model file:cluster.model --format openmpi -o tuned.conf
  rubato tune allreduce --ranks 64 --bytes 1MiB --arrivals balanced --arrivals uniform:max=5ms,seed=1
  rubato tune --program run.rubato --format mpich -o tuned.json
  mpirun -n 32 rubato tune all --ranks 64,128,256 --bytes 1KiB,32KiB,1MiB -o large.rules)");
    when_called(*app, [o, app, &status] {
        const auto tune = [&](const work_sharing& share) { run_tune(*app, *o, share); };
#ifdef RUBATO_CLI_MPI
        if (const std::optional<int> ended = tune_on_ranks(tune)) {
            status = *ended;
            return;
        }
#endif
        tune(share_among_cores);
    });
}

}  // namespace rubato::command
