// Scatter and gather when ranks arrive at different times: Rubato's algorithms that sort by arrival, and their early
// forms, beside the MPI library's own and beside what the link allows.
//
//   mpirun -n 16 --mca coll_tuned_use_dynamic_rules 1 arrivals [--bytes 512KiB,2MiB] [--patterns P;P;...] [--help]
//
// All contestants run in each repetition, in random order, under the same arrivals, and each result is checked.
#include "arrival_runs.hpp"
#include "control_variable.hpp"
#include "rubato/arrival.hpp"
#include "rubato/statistics.hpp"
#include "table.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

namespace {

using namespace rubato;

struct options {
    std::vector<std::string> collectives{"scatter", "gather"};
    std::vector<std::string> bytes{"512KiB", "2MiB"};
    std::vector<std::string> patterns{};
    std::vector<std::string> algorithms{};
    int repetitions = 20;
    double seconds = 120;
    std::string tolerance = "1ms";
    predictions known = predictions::given;
    std::string json{};
};

int me = 0;
int ranks = 1;

std::vector<std::string> default_patterns() {
    return {"balanced",
            "single:rank=1,delay=100ms",
            "single:rank=1,delay=400ms",
            fmt::format("single:rank={},delay=200ms", ranks - 1),
            "single:rank=0,delay=100ms",
            "single:rank=0,delay=400ms",
            "uniform:max=100ms,seed=1",
            "uniform:max=400ms,seed=1"};
}

struct native_algorithm {
    collective what;
    int number;  // in coll/tuned
    const char* name;
};
constexpr native_algorithm native_algorithms[] = {
    {collective::scatter, 0, "native default"},    {collective::scatter, 1, "native linear"},
    {collective::scatter, 2, "native binomial"},   {collective::gather, 0, "native default"},
    {collective::gather, 1, "native linear"},      {collective::gather, 2, "native binomial"},
    {collective::gather, 3, "native linear_sync"},
};
constexpr const char* our_algorithms[] = {
    "scatter/linear",
    "scatter/binomial",
    "scatter/sorted_linear",
    "scatter/sorted_linear+early",
    "scatter/sorted_binomial",
    "scatter/sorted_binomial+early",
    "gather/linear",
    "gather/binomial",
    "gather/linear_sync",
    "gather/sorted_linear_sync",
    "gather/sorted_linear_sync+early",
    "gather/sorted_binomial",
    "gather/sorted_binomial+early",
};

std::vector<contestant> contestants_of(collective what, const options& o) {
    const auto wanted = [&o](const std::string& name) {
        return o.algorithms.empty() || std::ranges::any_of(o.algorithms, [&name](const std::string& part) {
                   return name.find(part) != std::string::npos;
               });
    };
    std::vector<contestant> all;
    const bool choosable = control_variable("coll_tuned_use_dynamic_rules").has_value();
    for (const native_algorithm& n : native_algorithms) {
        if (n.what != what || !wanted(n.name)) continue;
        if (n.number == 0) {
            all.push_back({n.name});
            MPI_Comm_dup(MPI_COMM_WORLD, &all.back().native);
        } else if (choosable) {
            all.push_back({n.name, forced_communicator(std::string(traits(what).name), n.number)});
        } else if (me == 0) {
            fmt::print("{} is left out, as this is not Open MPI with coll/tuned\n", n.name);
        }
    }
    for (const char* id : our_algorithms) {
        const algorithm& a = find_algorithm(id);
        if (a.what == what && wanted(id)) all.push_back({id, MPI_COMM_NULL, &a, a.early});
        const std::string announced = fmt::format("{}, announced", id);
        if (a.what == what && a.early && wanted(announced)) all.push_back({announced, MPI_COMM_NULL, &a});
    }
    return all;
}

/// Whether it is one of the four per collective that this is about.
bool is_sorted(const contestant& c) { return c.use != nullptr && c.use->arrival_aware && c.named == c.use->early; }

struct run_record {
    timed seen{};
    time_ns bound{};       // of the run time, for these arrivals
    time_ns on_arrival{};  // the same if nothing is done before a rank arrives
};

/// One case: what was measured of each contestant, one after the other.
struct measured {
    collective what{};
    std::int64_t bytes = 0;
    std::string pattern{};
    std::vector<contestant> who{};
    std::vector<std::vector<run_record>> runs{};
    time_ns clock_error{};  // at most

    estimate of(std::size_t k, const std::function<double(const run_record&)>& f) const {
        std::vector<double> v;
        for (const run_record& r : runs[k]) v.push_back(f(r));
        return estimate_median(v);
    }
    /// Runs of one to which a rank came too late.
    int repeated(std::size_t k) const {
        int n = 0;
        for (const run_record& r : runs[k]) n += r.seen.repeated;
        return n;
    }
    /// Of run times, repetition by repetition.
    estimate ratio(std::size_t a, std::size_t b) const;
    std::optional<std::size_t> find(std::string_view name) const {
        for (std::size_t k = 0; k < who.size(); ++k)
            if (who[k].name == name) return k;
        return {};
    }
};

double ms(time_ns t) { return static_cast<double>(t.count()) * 1e-6; }
double run_ms(const run_record& r) { return ms(run_time(r.seen.arrivals, r.seen.exits)); }
double tail_ms(const run_record& r) { return ms(tail(r.seen.arrivals, r.seen.exits)); }
double bound_ms(const run_record& r) { return ms(r.bound); }
double on_arrival_ms(const run_record& r) { return ms(r.on_arrival); }
double tail_bound_ms(const run_record& r) { return ms(r.bound - absolute_imbalance(r.seen.arrivals)); }
double to_bound(const run_record& r) { return run_ms(r) / bound_ms(r); }

estimate measured::ratio(std::size_t a, std::size_t b) const {
    std::vector<double> v;
    for (std::size_t i = 0; i < runs[a].size(); ++i) v.push_back(run_ms(runs[a][i]) / run_ms(runs[b][i]));
    return estimate_median(v);
}

run_record record(const measured& m, timed seen, std::int64_t block, const link_speed& l) {
    const time_ns first = std::ranges::min(seen.arrivals);
    const auto bound = [&](before_arrival can) {
        return earliest_end(m.what, seen.arrivals, 0, block, l, can) - first;
    };
    const time_ns any = bound(before_arrival::background);
    const time_ns without = bound(before_arrival::nothing);
    return {std::move(seen), any, without};
}

measured measure(arrival_runs& runs, measured m, const link_speed& l, const options& o) {
    const std::int64_t block = m.bytes / ranks / 8 * 8;
    if (block == 0)
        throw error(fmt::format("{} over {} ranks", format_bytes(m.bytes), ranks), "a block has at least 8 bytes",
                    "give more by --bytes");
    m.runs.resize(m.who.size());
    std::vector<std::size_t> order(m.who.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::mt19937 random(7);  // the same on all ranks
    const time_ns begin = own_time();
    int again = 1;
    for (int i = 0; again != 0; ++i) {
        const std::vector<time_ns> arrivals = parse_arrivals(m.pattern, ranks, i);
        std::ranges::shuffle(order, random);
        runs.synchronise();
        m.clock_error = std::max(m.clock_error, runs.clock_error());
        for (const std::size_t k : order)
            m.runs[k].push_back(record(m, runs.run(m.who[k], m.what, block, arrivals), block, l));
        const double passed = std::chrono::duration<double>(own_time() - begin).count();
        again = i + 1 < o.repetitions && passed < o.seconds ? 1 : 0;
        MPI_Bcast(&again, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return m;
}

std::string show(const estimate& e, int digits) {
    return fmt::format("{:.{}f} ({:.{}f}-{:.{}f})", e.value, digits, e.low, digits, e.high, digits);
}

std::string show_ratio(const measured& m, std::size_t k, std::optional<std::size_t> to) {
    return to ? show(m.ratio(k, *to), 3) : "-";
}

void print_case(const measured& m) {
    fmt::print("\n{} of {}, {}: bound {:.1f} ms, {:.1f} if nobody begins early; {} repetitions, clocks agree to {}\n\n",
               traits(m.what).name, format_bytes(m.bytes), m.pattern, m.of(0, bound_ms).value,
               m.of(0, on_arrival_ms).value, m.runs.front().size(), format_time(m.clock_error));
    std::vector<std::vector<std::string>> rows{{"", "run time, ms", "to bound", "tail, ms", "to native default",
                                                "to native linear", "begun early", "repeated"}};
    for (std::size_t k = 0; k < m.who.size(); ++k)
        rows.push_back({m.who[k].name, show(m.of(k, run_ms), 1), show(m.of(k, to_bound), 3), show(m.of(k, tail_ms), 2),
                        show_ratio(m, k, m.find("native default")), show_ratio(m, k, m.find("native linear")),
                        fmt::format("{:.0f}", m.of(k, [](const run_record& r) { return r.seen.begun_early; }).value),
                        std::to_string(m.repeated(k))});
    print_table(rows);
    std::fflush(stdout);
}

/// The fastest of those that sort by arrival.
std::optional<std::size_t> best_of(const measured& m) {
    std::optional<std::size_t> best;
    for (std::size_t k = 0; k < m.who.size(); ++k)
        if (is_sorted(m.who[k]) && (!best || m.of(k, run_ms).value < m.of(*best, run_ms).value)) best = k;
    return best;
}

void print_summary(const std::vector<measured>& cases) {
    std::vector<std::vector<std::string>> rows{{"case", "pattern", "bound, ms", "native default", "native linear",
                                                "best that sorts", "which", "to bound", "to default", "to linear",
                                                "tail bound", "tail", "default's tail"}};
    for (const measured& m : cases) {
        const auto best = best_of(m);
        if (!best) continue;
        const auto usual = m.find("native default");
        const auto linear = m.find("native linear");
        const auto one = [&m](std::optional<std::size_t> k, auto f, int digits) {
            return k ? fmt::format("{:.{}f}", m.of(*k, f).value, digits) : "-";
        };
        rows.push_back({fmt::format("{} {}", traits(m.what).name, format_bytes(m.bytes)), m.pattern,
                        one(best, bound_ms, 1), one(usual, run_ms, 1), one(linear, run_ms, 1), one(best, run_ms, 1),
                        std::string(m.who[*best].use->name()), show(m.of(*best, to_bound), 3),
                        show_ratio(m, *best, usual), show_ratio(m, *best, linear), one(best, tail_bound_ms, 2),
                        one(best, tail_ms, 2), one(usual, tail_ms, 2)});
    }
    fmt::print("\n");
    if (rows.size() > 1) print_table(rows);
}

nlohmann::json to_json(const estimate& e) { return {{"median", e.value}, {"low", e.low}, {"high", e.high}}; }

nlohmann::json to_json(const measured& m) {
    nlohmann::json out{{"collective", traits(m.what).name},
                       {"bytes", m.bytes},
                       {"pattern", m.pattern},
                       {"repetitions", m.runs.front().size()},
                       {"clock_error_ns", m.clock_error.count()}};
    for (std::size_t k = 0; k < m.who.size(); ++k) {
        nlohmann::json c{{"name", m.who[k].name},
                         {"run_time_ms", to_json(m.of(k, run_ms))},
                         {"tail_ms", to_json(m.of(k, tail_ms))},
                         {"bound_ms", to_json(m.of(k, bound_ms))},
                         {"bound_on_arrival_ms", to_json(m.of(k, on_arrival_ms))},
                         {"to_bound", to_json(m.of(k, to_bound))}};
        for (const run_record& r : m.runs[k]) {
            nlohmann::json run{
                {"begun_early", r.seen.begun_early}, {"repeated", r.seen.repeated}, {"bound_ns", r.bound.count()}};
            for (const time_ns t : r.seen.arrivals) run["arrivals_ns"].push_back(t.count());
            for (const time_ns t : r.seen.exits) run["exits_ns"].push_back(t.count());
            c["runs"].push_back(run);
        }
        out["contestants"].push_back(c);
    }
    return out;
}

nlohmann::json to_json(const link_speed& l) { return {{"latency_ns", l.latency.count()}, {"ns_per_byte", l.per_byte}}; }

void print_link(std::string_view name, const link_speed& l) {
    fmt::print("{}: {:.2f} Mbit/s in a message of 4 MiB, latency {}\n", name, 8e3 / l.per_byte, format_time(l.latency));
}

void compare(const options& o) {
    arrival_runs runs(MPI_COMM_WORLD, {parse_time(o.tolerance), o.known});
    const link_speed from_root = runs.measure_link(0);
    const link_speed to_root = runs.measure_link(1);
    if (me == 0) {
        fmt::print("{} ranks, root 0\n", ranks);
        print_link("rank 0 to 1", from_root);
        print_link("rank 1 to 0", to_root);
    }
    std::vector<measured> cases;
    for (const std::string& name : o.collectives) {
        const collective what = parse_collective(name);
        const std::vector<contestant> who = contestants_of(what, o);
        const link_speed& l = what == collective::scatter ? from_root : to_root;
        for (const std::string& bytes : o.bytes) {
            measured m{what, parse_bytes(bytes), "balanced", who};
            options once = o;
            once.repetitions = 1;
            measure(runs, m, l, once);  // opens connections
            for (const std::string& pattern : o.patterns) {
                m.pattern = pattern;
                cases.push_back(measure(runs, m, l, o));
                if (me == 0) print_case(cases.back());
            }
        }
        for (const contestant& c : who)
            if (MPI_Comm comm = c.native; comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    }
    if (me != 0) return;
    print_summary(cases);
    if (o.json.empty()) return;
    nlohmann::json out{{"ranks", ranks},
                       {"compiler", __VERSION__},
                       {"rank_0_to_1", to_json(from_root)},
                       {"rank_1_to_0", to_json(to_root)}};
    for (const measured& m : cases) out["cases"].push_back(to_json(m));
    if (!(std::ofstream(o.json) << out.dump(1) << '\n'))
        throw error(fmt::format("cannot write '{}'", o.json), "the file cannot be opened", "give another name");
}

}  // namespace

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    options o;
    o.patterns = default_patterns();
    CLI::App app("Scatter and gather when ranks arrive at different times");
    app.add_option("--collectives", o.collectives, "scatter, gather")
        ->delimiter(',')
        ->check(CLI::IsMember({"scatter", "gather"}))
        ->capture_default_str();
    app.add_option("--bytes", o.bytes, "of all ranks together")->delimiter(',')->capture_default_str();
    app.add_option("--patterns", o.patterns, "when ranks arrive; random ones anew in each repetition")
        ->delimiter(';')
        ->capture_default_str();
    app.add_option("--algorithms", o.algorithms, "only those whose names contain one of these, such as native,+early")
        ->delimiter(',');
    app.add_option("--repetitions", o.repetitions, "of each case")->capture_default_str()->check(CLI::Range(1, 1000));
    app.add_option("--seconds", o.seconds, "begin no repetition later, in each case")->capture_default_str();
    app.add_option("--predictions", o.known, "how algorithms know of arrivals: given (the default), exchanged, edge")
        ->transform(CLI::CheckedTransformer(std::map<std::string, predictions>{
            {"given", predictions::given}, {"exchanged", predictions::exchanged}, {"edge", predictions::edge}}));
    app.add_option("--tolerance", o.tolerance, "a run is repeated if a rank arrives later than planned by more")
        ->capture_default_str();
    app.add_option("--json", o.json, "write all times to this file");
    int status = 0;
    try {
        app.parse(argc, argv);
        compare(o);
    } catch (const CLI::ParseError& e) {
        status = me == 0 ? app.exit(e) : e.get_exit_code();
    } catch (const std::exception& e) {
        fmt::print(stderr, "arrivals: {}\n", e.what());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_T_finalize();
    MPI_Finalize();
    return status;
}
