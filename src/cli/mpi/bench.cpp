// rubato bench: native collectives and Rubato's side by side, under any arrival pattern.
#include "arrival/predictor.hpp"
#include "bench/campaign.hpp"
#include "bench/conditions.hpp"
#include "bench/overlap.hpp"
#include "bench/world.hpp"
#include "cli/command.hpp"
#include "cli/report_text.hpp"
#include "mpi/datatype.hpp"
#include "report/output.hpp"
#include "rubato/arrival.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>
#include <csignal>

namespace rubato::cli {
namespace {

using namespace bench;

struct bench_options {
    std::vector<std::string> contests{};
    std::vector<std::string> bytes{"1MiB"};
    std::vector<std::string> arrivals{"balanced"};
    std::vector<std::string> segments{"auto"};
    std::string datatype = "double";
    std::string op = "sum";
    std::int32_t root = 0;
    std::string graph{};
    std::int32_t warmups = 1;
    std::int32_t screenings = 0;
    std::int32_t keep = 3;
    std::int32_t repetitions = 20;
    std::string budget = "0";
    std::int32_t seed = 0;
    std::string start = "window";
    std::string delay = "sleep";
    std::string tolerance = "1ms";
    std::string prediction = "perfect";
    bool announced = false;
    std::string model_text{};
    bool no_bound = false;
    std::string output{};
    bool resume = false;
    bool timelines = false;
    bool overlap = false;
    std::string tests = "0,1,4,16,64";
    bool json = false;
};

template <class T>
T one_of(const std::string& text, std::string_view what, std::string_view first, T a, std::string_view second, T b) {
    if (text == first) return a;
    if (text == second) return b;
    throw error(fmt::format("unknown {} '{}'", what, text), fmt::format("there are {} and {}", first, second),
                "use one of them");
}

timed_calls::settings calls_of(const bench_options& o) {
    timed_calls::settings s;
    using enum timed_calls::start_by;
    using enum timed_calls::delay_by;
    s.start = one_of(o.start, "start", "window", window, "barrier", barrier);
    s.delay = one_of(o.delay, "delay", "sleep", sleep, "spin", spin);
    s.tolerance = parse_time(o.tolerance);
    s.prediction = o.prediction;
    s.announced = o.announced;
    return s;
}

campaign_settings campaign_of(const bench_options& o, int ranks) {
    campaign_settings s;
    s.graph_text = o.graph;
    if (!o.graph.empty()) s.neighbours = parse_graph(o.graph, ranks);
    for (const std::string& c : o.contests) s.contests.push_back(parse_contest(c));
    for (const std::string& b : split_lists(o.bytes)) s.bytes.push_back(parse_bytes(b));
    s.patterns = o.arrivals;
    s.segments_text = split_lists(o.segments);
    s.segments.clear();
    for (const std::string& text : s.segments_text) s.segments.push_back(parse_segmentation(text));
    s.datatype = o.datatype;
    s.op = o.op;
    s.root = o.root;
    s.warmups = o.warmups;
    s.screenings = o.screenings;
    s.keep = o.keep;
    s.repetitions = o.repetitions;
    s.seconds = std::chrono::duration<double>(parse_time(o.budget)).count();
    s.timelines = o.timelines;
    s.seed = static_cast<std::uint64_t>(o.seed);
    return s;
}

/// The given model, or one from the measured link.
model model_of(const bench_options& o, const link& l) {
    if (!o.model_text.empty()) return parse_model(o.model_text);
    return {hockney{static_cast<double>(std::max<time_ns::rep>(1, l.latency.count())), l.ns_per_byte, 0}};
}

char interrupted_message[512];
std::size_t interrupted_length = 0;

void interrupted(int) {
    if (write(STDERR_FILENO, interrupted_message, interrupted_length) < 0) _exit(1);
    _exit(130);
}

/// Every sample is already in the file, so only a message is needed.
void keep_on_interrupt(const std::string& file) {
    const std::string text = file.empty() ? "rubato: interrupted; with --output FILE, what was measured is kept\n"
                                          : fmt::format(
                                                "rubato: interrupted; what was measured is in '{}'; "
                                                "--resume goes on, 'rubato report' shows it\n",
                                                file);
    interrupted_length = text.copy(interrupted_message, sizeof interrupted_message);
    std::signal(SIGINT, interrupted);
    std::signal(SIGTERM, interrupted);
}

/// Line by line on a terminal, and then only if it takes long.
class progress_line {
public:
    explicit progress_line(bool wanted) : wanted_(wanted && isatty(STDERR_FILENO) != 0) {}
    ~progress_line() { clear(); }
    void clear() {
        if (std::exchange(shown_, false)) fmt::print(stderr, "\r\033[K");
    }
    void say(const std::string& text) {
        using namespace std::chrono_literals;
        if (!wanted_ || own_time() - begin_ < 2s) return;
        shown_ = true;
        fmt::print(stderr, "\r\033[K{}", text);
    }

private:
    bool wanted_;
    bool shown_ = false;
    time_ns begin_ = own_time();
};

bool overlaps(const results::run& r, const results::measured_case& c) {
    return std::ranges::any_of(r.overlaps, [&c](const results::overlap& o) { return o.in_case == c.number; });
}

/// The cases that are complete in the file that a run continues. Throws if they were measured in another way.
std::vector<results::measured_case> done_in(const std::string& file, bool overlap, const results::conditions& now) {
    std::vector<results::measured_case> done;
    auto here = results::decisive(now);
    here["ranks"] = std::to_string(now.ranks());
    for (const results::run& r : results::read(std::vector{file})) {
        auto there = results::decisive(r.how);
        there.erase("computation");  // known only after this run has begun
        there["ranks"] = std::to_string(r.how.ranks());
        for (const auto& [name, value] : there) here.try_emplace(name, "unset");
        for (const auto& [name, value] : here)
            if (const auto& before = there.try_emplace(name, "unset").first->second; before != value)
                throw error(fmt::format("'{}' cannot be gone on with", file),
                            fmt::format("{} was '{}' there and is '{}' now", name, before, value),
                            "measure as before, or into another file");
        for (const results::measured_case& c : r.cases)
            if (c.done && overlaps(r, c) == overlap) done.push_back(c);
    }
    return done;
}

void print(const bench_options& o, const results::run& measured) {
    if (measured.cases.empty())  // of a run that was resumed
        return write_out(o.json ? "{}\n" : fmt::format("all of it is in '{}' already\n", o.output));
    report::analysis a = report::group({measured});
    for (report::measured_case& c : a.cases) report::evaluate(c, a.references());
    report::relate(a);
    if (o.json) return write_out(report::as_json(a).dump(2) + '\n');
    if (o.overlap) return write_out(report::summary(a) + extras_text(a));
    write_out(fmt::format("{}\n{}", report::summary(a), o.screenings > 0 ? winners_text(a) : contestants_text(a)));
}

/// `begun` becomes true when all ranks have checked everything: after that, one rank may fail alone.
void measure(const bench_options& o, int me, int ranks, bool& begun) {
    timed_calls::settings how;
    campaign_settings s;
    std::vector<std::int32_t> tests;
    std::vector<results::measured_case> done;
    std::optional<results::recorder> recorder;
    results::conditions c = conditions_here();
    std::string trouble;
    try {
        how = calls_of(o);
        s = campaign_of(o, ranks);
        check(s, me, ranks);
        tests = parse_list(o.tests, "number of tests", 0, 1 << 20);
        if (o.prediction != "perfect") pattern_predictor(o.prediction, ranks);
        if (!o.model_text.empty()) parse_model(o.model_text);
        c.seed = s.seed;
        c.start = o.start;
        c.delay = o.delay;
        c.tolerance = how.tolerance;
        c.prediction = o.prediction;
        if (o.resume && me == 0) done = done_in(o.output, o.overlap, c);
        if (me == 0)
            recorder.emplace(o.output,
                             o.resume ? results::recorder::existing::append : results::recorder::existing::refuse);
    } catch (const error& e) {
        trouble = e.what();
    }
    trouble = said_by_one(trouble, me, ranks);  // hosts may have different files
    if (!trouble.empty()) throw error(trouble);

    begun = true;
    const neighbourhood around(o.graph);
    timed_calls calls(how);
    if (!o.no_bound) s.speed = c.link = calls.measure_link();
    s.network = model_of(o, c.link);
    c.model = to_string(s.network);
    c.clock_error = calls.clock_error();
    std::optional<workload> work;
    if (o.overlap) c.computation = work.emplace().sleeps() ? "sleep" : "compute";
    if (me == 0 && work && work->sleeps())
        fmt::print(stderr, "rubato: ranks share cores: they sleep where they would compute\n");
    if (recorder) recorder->add(c);
    if (me == 0) keep_on_interrupt(o.output);
    progress_line shown(me == 0);
    const auto say = [&shown](const std::string& text) { shown.say(text); };
    results::recorder* const write = recorder ? &*recorder : nullptr;
    if (o.overlap)
        overlap_campaign(std::move(s), *work, tests, calls, write, std::move(done)).run(say);
    else
        campaign(std::move(s), calls, write, std::move(done)).run(say);
    shown.clear();
    if (recorder) print(o, recorder->recorded());
}

int run(const bench_options& o) {
    int level = 0;
    mpi::check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread");
    mpi::check(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level), "MPI_T_init_thread");
    mpi::check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    int me = 0;
    int ranks = 1;
    mpi::check(MPI_Comm_rank(MPI_COMM_WORLD, &me), "MPI_Comm_rank");
    mpi::check(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
    int status = 0;
    bool begun = false;
    try {
        measure(o, me, ranks, begun);
    } catch (const std::exception& e) {
        const bool alone = begun && dynamic_cast<const common_error*>(&e) == nullptr;
        if (alone || me == 0) fmt::print(stderr, "rubato: {}\n", e.what());
        status = 2;
        if (begun) MPI_Abort(MPI_COMM_WORLD, status);
    }
    mpi::check(MPI_T_finalize(), "MPI_T_finalize");
    mpi::check(MPI_Finalize(), "MPI_Finalize");
    return status;
}

}  // namespace

void add_bench(CLI::App& command, int& status) {
    auto o = std::make_shared<bench_options>();
    CLI::App& sub =
        *command.add_subcommand("bench", "measure collectives under arrival patterns, the MPI library's and rubato's");
    sub.add_option("CONTESTS", o->contests, "COLLECTIVE, or COLLECTIVE/NAME,NAME@8KiB,native,native:NAME,native:all")
        ->required();
    sub.add_option("-b,--bytes", o->bytes,
                   "sizes of the vector, or of the buffer that has a chunk for each rank (default: 1MiB)")
        ->allow_extra_args(false)
        ->type_name("SIZE[,SIZE...]");
    sub.add_option("--arrivals", o->arrivals,
                   "when ranks arrive, such as single:rank=3,delay=5ms; may be given several times (default: balanced)")
        ->allow_extra_args(false)
        ->type_name("PATTERN");
    sub.add_option("-s,--segments", o->segments,
                   "how vectors are cut: segments of a size (8KiB), a number of pieces (16), or auto; each is tried\n"
                   "(default: auto)")
        ->allow_extra_args(false)
        ->type_name("SIZE|N|auto[,...]");
    add_data(sub, o->datatype, o->op);
    add_integer(sub, "--root", o->root, "rank", 0, 1 << 30, "the root (default: 0)");
    add_graph(sub, o->graph);
    add_integer(sub, "--repetitions", o->repetitions, "number of repetitions", 1, 1 << 20,
                "how often each case is measured (default: 20)");
    add_integer(sub, "--warmup", o->warmups, "number of warm-ups", 0, 1 << 20,
                "first calls of each size, kept apart (default: 1)");
    add_integer(sub, "--screen", o->screenings, "number of screening repetitions", 0, 1 << 20,
                "repetitions with all contestants before only the best are measured (default: 0, measure all)");
    add_integer(sub, "--keep", o->keep, "number of contestants to keep", 1, 1 << 20,
                "how many of rubato's and of the native contestants are the best (default: 3)");
    sub.get_option("--keep")->needs(sub.get_option("--screen"));
    sub.add_option("--budget", o->budget,
                   "begin no repetition of a case after this time, such as 30s (default: no limit)")
        ->type_name("TIME");
    add_integer(sub, "--seed", o->seed, "seed", 0, INT32_MAX,
                "of the order of calls, and of which random arrivals come first (default: 0)");
    sub.add_option("--start", o->start, "window: at an agreed time; barrier: after two barriers (default: window)")
        ->type_name("NAME");
    sub.add_option("--delay", o->delay, "late ranks sleep or spin (default: sleep)")->type_name("NAME");
    sub.add_option("--tolerance", o->tolerance,
                   "with --start window, repeat a call if a rank arrives later than planned by more (default: 1ms)")
        ->type_name("TIME");
    sub.add_option("--prediction", o->prediction,
                   "what algorithms know of arrivals: perfect, or a predictor such as average:window=5, which learns\n"
                   "from the repetitions (default: perfect)")
        ->type_name("PREDICTOR");
    sub.add_flag("--announced", o->announced,
                 "early forms begin when another rank announces the call, not when their own rank names it");
    sub.add_option("--model", o->model_text,
                   "cost model, for segments and plans in rounds (default: what the link is measured to do)")
        ->type_name("MODEL");
    sub.add_flag("--no-bound", o->no_bound,
                 "do not measure the link: there are no bounds, and nothing large is sent before the first call")
        ->needs("--model");
    sub.add_option("-o,--output", o->output, "keep everything in this file, a JSON object per line")->type_name("FILE");
    sub.add_flag("--timeline", o->timelines, "keep when the steps of one call of each of rubato's began and ended");
    sub.add_flag("--resume", o->resume, "continue that file: skip the cases that are complete in it");
    sub.add_flag("--json", o->json, "print everything that was computed, with times in nanoseconds");
    CLI::Option* const overlap = sub.add_flag(
        "--overlap", o->overlap, "measure how much of a non-blocking call hides behind computation, and what it costs");
    sub.add_option("--tests", o->tests,
                   "how often to test during that computation; each is tried (default: 0,1,4,16,64)")
        ->type_name("N[,N...]")
        ->needs(overlap);
    for (const char* other : {"--arrivals", "--screen", "--keep", "--prediction", "--announced", "--timeline"})
        overlap->excludes(sub.get_option(other));
    sub.footer(
        "Start it with mpirun. In each repetition every contestant runs once, under the same arrivals, in random\n"
        "order, and every result is checked. With Open MPI, native:NAME is one of its own algorithms; it needs\n"
        "'--mca coll_tuned_use_dynamic_rules 1'. knomial:3 is an algorithm with its radix. Segment sizes apply to all\n"
        "algorithms that cut vectors. bcast/multicast casts by UDP to all hosts at once, or says why it does not;\n"
        "bcast/multicast:insist does so whatever is lost. --overlap calls each contestant in a blocking way, in a "
        "second thread, and\n"
        "without blocking, beside a computation that is as long as the blocking call; where ranks share cores, they\n"
        "sleep instead. 'rubato help sim' lists the arrival patterns and the models.\n"
        "Examples:\n"
        "  mpirun -n 8 rubato bench reduce/chain,clairvoyant,native --bytes 64KiB,1MiB --arrivals "
        "single:rank=7,delay=5ms\n"
        "  mpirun -n 8 rubato bench gather --arrivals balanced --arrivals uniform:max=10ms,seed=1 -o gather.jsonl\n"
        "  mpirun -n 8 rubato bench --overlap allreduce/native,rabenseifner --bytes 1MiB --tests 0,16\n"
        "  mpirun -n 8 rubato bench barrier/native,n_way_dissemination:1,n_way_dissemination:3\n"
        "  mpirun -n 8 rubato bench neighbor_alltoall --graph torus:4x2 --bytes 1KiB,64KiB\n"
        "  mpirun -n 8 rubato bench reduce --segments 4KiB,16KiB --screen 2 --keep 3 -o reduce.jsonl\n"
        "  rubato report reduce.jsonl -o reduce.html");
    sub.callback([o, &sub, &status] {
        if (o->resume && o->output.empty())
            throw error("--resume without a file", "it continues a file", "name the file with --output");
        if (sub.count("--tolerance") > 0 && o->start == "barrier")
            throw error("--tolerance with --start barrier", "it is for calls that begin at an agreed time",
                        "leave one of them out");
        std::vector<const algorithm*> all;
        for (const std::string& c : o->contests)
            for (const algorithm& a : algorithms())
                if (a.what == parse_contest(c).what) all.push_back(&a);
        refuse_unused(sub, all);
        status = run(*o);
    });
}

}  // namespace rubato::cli
