// rubato bench: native collectives and Rubato's side by side, under any arrival pattern.
#include "command/cli/command.hpp"
#include "command/cli/mpi/under_mpi.hpp"
#include "command/cli/parallel.hpp"
#include "command/cli/report_text.hpp"
#include "command/experiments/overlap.hpp"
#include "engine/mpi/datatype.hpp"
#include "reports/report/output.hpp"
#include "rubato/arrival.hpp"
#include "simulator/arrival/predictor.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>
#include <csignal>

namespace rubato::command {
namespace {

struct bench_options {
    std::vector<std::string> contests{};
    std::vector<std::string> bytes{"1MiB"};
    std::vector<std::string> segments{"auto"};
    std::string budget = "0";
    std::int32_t seed = 0;
    std::string start = "window";
    std::string delay = "sleep";
    std::string tolerance = "1ms";
    campaign_settings campaign{};   ///< without what the texts above say
    timed_calls::settings calls{};  ///< likewise
    std::string model_text{};
    bool no_bound = false;
    std::string output{};
    bool resume = false;
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
    timed_calls::settings s = o.calls;
    using enum timed_calls::start_by;
    using enum timed_calls::delay_by;
    s.start = one_of(o.start, "start", "window", window, "barrier", barrier);
    s.delay = one_of(o.delay, "delay", "sleep", sleep, "spin", spin);
    s.tolerance = parse_time(o.tolerance);
    return s;
}

campaign_settings campaign_of(const bench_options& o, int ranks) {
    campaign_settings s = o.campaign;
    if (!s.graph_text.empty()) s.neighbours = parse_graph(s.graph_text, ranks);
    for (const std::string& c : o.contests) s.contests.push_back(parse_contest(c));
    for (const std::string& b : split_lists(o.bytes)) s.bytes.push_back(parse_bytes(b));
    s.segments_text = split_lists(o.segments);
    s.segments.clear();
    for (const std::string& text : s.segments_text) s.segments.push_back(parse_segmentation(text));
    s.seconds = std::chrono::duration<double>(parse_time(o.budget)).count();
    s.seed = static_cast<std::uint64_t>(o.seed);
    return s;
}

/// The given model, or one from the measured link.
model model_of(const bench_options& o, const simulator::link& l) {
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

bool overlaps(const reports::run& r, const reports::measured_case& c) {
    return std::ranges::any_of(r.overlaps, [&c](const reports::overlap& o) { return o.in_case == c.number; });
}

/// The cases that are complete in the file that a run continues. Throws if they were measured in another way.
std::vector<reports::measured_case> done_in(const std::string& file, bool overlap, const reports::conditions& now) {
    std::vector<reports::measured_case> done;
    auto here = reports::decisive(now);
    here["ranks"] = std::to_string(now.ranks());
    for (const reports::run& r : reports::read(std::vector{file})) {
        auto there = reports::decisive(r.how);
        there.erase("computation");  // known only after this run has begun
        there["ranks"] = std::to_string(r.how.ranks());
        for (const auto& [name, value] : there) here.try_emplace(name, "unset");
        for (const auto& [name, value] : here)
            if (const auto& before = there.try_emplace(name, "unset").first->second; before != value)
                throw error(fmt::format("'{}' cannot be gone on with", file),
                            fmt::format("{} was '{}' there and is '{}' now", name, before, value),
                            "measure as before, or into another file");
        for (const reports::measured_case& c : r.cases)
            if (c.done && overlaps(r, c) == overlap) done.push_back(c);
    }
    return done;
}

void print(const bench_options& o, const reports::run& measured) {
    if (measured.cases.empty())  // of a run that was resumed
        return write_out(o.json ? "{}\n" : fmt::format("all of it is in '{}' already\n", o.output));
    reports::analysis a = reports::group({measured});
    for (reports::analysed_case& c : a.cases) reports::evaluate(c, a.references());
    reports::relate(a);
    if (o.json) return write_out(reports::as_json(a).dump(2) + '\n');
    if (o.overlap) return write_out(reports::summary(a) + extras_text(a));
    write_out(
        fmt::format("{}\n{}", reports::summary(a), o.campaign.screenings > 0 ? winners_text(a) : contestants_text(a)));
}

/// `alone` becomes true when all ranks have checked everything.
void measure(const bench_options& o, int me, int ranks, bool& alone) {
    timed_calls::settings how;
    campaign_settings s;
    std::vector<std::int32_t> tests;
    std::vector<reports::measured_case> done;
    std::optional<reports::recorder> recorder;
    reports::conditions c = conditions_here();
    throw_together([&] {
        how = calls_of(o);
        s = campaign_of(o, ranks);
        check(s, me, ranks);
        tests = parse_list(o.tests, "number of tests", 0, 1 << 20);
        if (how.prediction != "perfect") simulator::pattern_predictor(how.prediction, ranks);
        if (!o.model_text.empty()) parse_model(o.model_text);
        c.seed = s.seed;
        c.start = o.start;
        c.delay = o.delay;
        c.tolerance = how.tolerance;
        c.prediction = how.prediction;
        if (o.resume && me == 0) done = done_in(o.output, o.overlap, c);
        if (me == 0)
            recorder.emplace(o.output,
                             o.resume ? reports::recorder::existing::append : reports::recorder::existing::refuse);
    });
    alone = true;
    const neighbourhood around(s.graph_text);
    timed_calls calls(how);
    if (!o.no_bound) s.speed = c.link = calls.measure_link();
    s.network = model_of(o, c.link);
    c.model = rubato::to_string(s.network);
    c.clock_error = calls.clock_error();
    std::optional<workload> work;
    if (o.overlap) c.computation = work.emplace().sleeps() ? "sleep" : "compute";
    if (me == 0 && work && work->sleeps())
        fmt::print(stderr, "rubato: ranks share cores: they sleep where they would compute\n");
    if (recorder) recorder->add(c);
    if (me == 0) keep_on_interrupt(o.output);
    progress_line shown(me == 0);
    const auto say = [&shown](const std::string& text) { shown.say(text); };
    reports::recorder* const write = recorder ? &*recorder : nullptr;
    if (o.overlap)
        overlap_campaign(std::move(s), *work, tests, calls, write, std::move(done)).run(say);
    else
        campaign(std::move(s), calls, write, std::move(done)).run(say);
    shown.clear();
    if (recorder) print(o, recorder->recorded());
}

/// MPI's own settings can be seen while it lives.
struct tool_interface {
    tool_interface() {
        int level = 0;
        engine::check(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level), "MPI_T_init_thread");
    }
    ~tool_interface() { MPI_T_finalize(); }
    tool_interface(const tool_interface&) = delete;
    tool_interface& operator=(const tool_interface&) = delete;
};

}  // namespace

void add_bench(CLI::App* app, int& status) {
    auto o = std::make_shared<bench_options>();
    require(add_value(*app, "CONTESTS", o->contests, "",
                      "COLLECTIVE, or COLLECTIVE/NAME,NAME@8KiB,native,native:NAME,native:all"));
    one_value_each_time(
        add_value(*app, "-b,--bytes", o->bytes, "SIZE[,SIZE...]",
                  "sizes of the vector, or of the buffer that has a chunk for each rank (default: 1MiB)"));
    one_value_each_time(add_value(
        *app, "--arrivals", o->campaign.patterns, "PATTERN",
        "when ranks arrive, such as single:rank=3,delay=5ms; may be given several times (default: balanced)"));
    one_value_each_time(
        add_value(*app, "-s,--segments", o->segments, "SIZE|N|auto[,...]",
                  "how vectors are cut: segments of a size (8KiB), a number of pieces (16), or auto; each is tried\n"
                  "(default: auto)"));
    add_data(*app, o->campaign.datatype, o->campaign.op);
    add_integer(*app, "--root", o->campaign.root, "rank", 0, 1 << 30, "the root (default: 0)");
    add_graph(*app, o->campaign.graph_text);
    add_integer(*app, "--repetitions", o->campaign.repetitions, "number of repetitions", 1, 1 << 20,
                "how often each case is measured (default: 20)");
    add_integer(*app, "--warmup", o->campaign.warmups, "number of warm-ups", 0, 1 << 20,
                "first calls of each size, kept apart (default: 1)");
    add_integer(*app, "--screen", o->campaign.screenings, "number of screening repetitions", 0, 1 << 20,
                "repetitions with all contestants before only the best are measured (default: 0, measure all)");
    add_integer(*app, "--keep", o->campaign.keep, "number of contestants to keep", 1, 1 << 20,
                "how many of rubato's and of the native contestants are the best (default: 3)");
    needs(*app, "--keep", "--screen");
    add_value(*app, "--budget", o->budget, "TIME",
              "begin no repetition of a case after this time, such as 30s (default: no limit)");
    add_integer(*app, "--seed", o->seed, "seed", 0, INT32_MAX,
                "of the order of calls, and of which random arrivals come first (default: 0)");
    add_value(*app, "--start", o->start, "NAME",
              "window: at an agreed time; barrier: after two barriers (default: window)");
    add_value(*app, "--delay", o->delay, "NAME", "late ranks sleep or spin (default: sleep)");
    add_value(*app, "--tolerance", o->tolerance, "TIME",
              "with --start window, repeat a call if a rank arrives later than planned by more (default: 1ms)");
    add_value(*app, "--prediction", o->calls.prediction, "PREDICTOR",
              "what algorithms know of arrivals: perfect, or a predictor such as average:window=5, which learns\n"
              "from the repetitions (default: perfect)");
    add_flag(*app, "--announced", o->calls.announced,
             "early forms begin when another rank announces the call, not when their own rank names it");
    add_value(*app, "--model", o->model_text, "MODEL",
              "cost model, for segments and plans in rounds (default: what the link is measured to do)");
    add_flag(*app, "--no-bound", o->no_bound,
             "do not measure the link: there are no bounds, and nothing large is sent before the first call");
    needs(*app, "--no-bound", "--model");
    add_value(*app, "-o,--output", o->output, "FILE", "keep everything in this file, a JSON object per line");
    add_flag(*app, "--timeline", o->campaign.timelines,
             "keep when the steps of one call of each of rubato's began and ended");
    add_flag(*app, "--resume", o->resume, "continue that file: skip the cases that are complete in it");
    add_flag(*app, "--json", o->json, "print everything that was computed, with times in nanoseconds");
    add_flag(*app, "--overlap", o->overlap,
             "measure how much of a non-blocking call hides behind computation, and what it costs");
    add_value(*app, "--tests", o->tests, "N[,N...]",
              "how often to test during that computation; each is tried (default: 0,1,4,16,64)");
    needs(*app, "--tests", "--overlap");
    for (const char* other : {"--arrivals", "--screen", "--keep", "--prediction", "--announced", "--timeline"})
        excludes(*app, "--overlap", other);
    add_footer(*app, R"(
Start it with mpirun. In each repetition every contestant runs once, under the same arrivals, in random
order, and every result is checked. With Open MPI, native:NAME is one of its own algorithms; it needs
'--mca coll_tuned_use_dynamic_rules 1'. knomial:3 is an algorithm with its radix. Segment sizes apply to all
algorithms that cut vectors. bcast/multicast casts by UDP to all hosts at once, or says why it does not;
bcast/multicast:insist does so whatever is lost. --overlap calls each contestant in a blocking way, in a second thread, and
without blocking, beside a computation that is as long as the blocking call; where ranks share cores, they
sleep instead. 'rubato help sim' lists the arrival patterns and the models.
Examples:
  mpirun -n 8 rubato bench reduce/chain,clairvoyant,native --bytes 64KiB,1MiB --arrivals single:rank=7,delay=5ms
  mpirun -n 8 rubato bench gather --arrivals balanced --arrivals uniform:max=10ms,seed=1 -o gather.jsonl
  mpirun -n 8 rubato bench --overlap allreduce/native,rabenseifner --bytes 1MiB --tests 0,16
  mpirun -n 8 rubato bench barrier/native,n_way_dissemination:1,n_way_dissemination:3
  mpirun -n 8 rubato bench neighbor_alltoall --graph torus:4x2 --bytes 1KiB,64KiB
  mpirun -n 8 rubato bench reduce --segments 4KiB,16KiB --screen 2 --keep 3 -o reduce.jsonl
  rubato report reduce.jsonl -o reduce.html)");
    when_called(*app, [o, app, &status] {
        if (o->resume && o->output.empty())
            throw error("--resume without a file", "it continues a file", "name the file with --output");
        if (is_given(*app, "--tolerance") && o->start == "barrier")
            throw error("--tolerance with --start barrier", "it is for calls that begin at an agreed time",
                        "leave one of them out");
        std::vector<const algorithm*> all;
        for (const std::string& c : o->contests)
            for (const algorithm& a : algorithms())
                if (a.what == parse_contest(c).what) all.push_back(&a);
        refuse_unused(*app, all);
        status = under_mpi(MPI_THREAD_MULTIPLE, [&o](int me, int ranks, bool& alone) {
            const tool_interface opened;
            measure(*o, me, ranks, alone);
            return 0;
        });
    });
}

}  // namespace rubato::command
