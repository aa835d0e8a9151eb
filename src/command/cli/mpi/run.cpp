// rubato run: one algorithm on real MPI, beside the MPI library's own collective, and checked.
#include "base/core/text.hpp"
#include "command/cli/command.hpp"
#include "command/cli/mpi/run_program.hpp"
#include "command/cli/mpi/under_mpi.hpp"
#include "command/experiments/contestants.hpp"
#include "command/experiments/experiment.hpp"
#include "rubato/arrival.hpp"
#include "rubato/layout.hpp"

#include <fmt/format.h>

#include <array>
#include <thread>

namespace rubato::command {
namespace {

struct run_options {
    std::string id{};
    std::string bytes = "1MiB";
    std::string arrivals = "balanced";
    std::string datatype = "double";
    std::string op = "sum";
    std::vector<std::int32_t> radix{};
    std::int32_t root = 0;
    std::string graph{};
    std::int32_t segments = 0;      // not given
    std::string round_time{};       // not given
    run_program_options program{};  // with what single calls need, too
};

struct run_times {
    time_ns run_time{};
    time_ns tail{};
};

/// Each rank's clock begins when it leaves the second of two barriers. The rank then names the call, waits for its
/// arrival time, and calls.
template <class Before, class F>
run_times measure(time_ns delay, Before before, F f) {
    mpi::run_native(world, mpi::call::barrier());
    mpi::run_native(world, mpi::call::barrier());
    using clock = std::chrono::steady_clock;
    const clock::time_point zero = clock::now();
    before();
    std::this_thread::sleep_until(zero + delay);
    const time_ns arrival = clock::now() - zero;
    f();
    const time_ns exit = clock::now() - zero;
    const auto of_all = [](time_ns t, MPI_Op op) { return time_ns(among_ranks(t.count(), op)); };
    const time_ns end = of_all(exit, MPI_MAX);
    return {end - of_all(arrival, MPI_MIN), end - of_all(arrival, MPI_MAX)};
}

time_ns median(std::vector<run_times> all, time_ns run_times::*which) {
    std::ranges::sort(all, {}, which);
    return all[all.size() / 2].*which;
}

struct run_outcome {
    std::vector<run_times> ours{}, native{};
    std::uint32_t segments = 1;
    mpi::plan_statistics plans{};
    std::uint64_t by_tree = 0;  // calls of multicast that were not cast
    std::string why_not{};
    std::int64_t wrong_rank = -1;  // first rank with a wrong element
    std::string difference{};      // known to that rank
};

/// "bcast/multicast", which is no algorithm.
std::optional<mpi::multicast_settings> multicast_of(const run_options& o) {
    return o.id.starts_with("bcast/") ? parse_multicast(std::string_view(o.id).substr(6)) : std::nullopt;
}

collective collective_of(const run_options& o) {
    return multicast_of(o) ? collective::bcast : find_algorithm(o.id).what;
}

/// Algorithms that use the time of a round get the model's, unless one is given.
mpi::selection choose(const run_options& o, const algorithm& a, const std::vector<time_ns>& arrivals) {
    mpi::selection how(a);
    how.segments = static_cast<std::uint32_t>(std::max(o.segments, 1));
    how.radix = o.radix;
    if (a.arrival_aware) how.arrivals = arrivals;
    if (!a.uses_round_time()) return how;
    const model m = parse_model(o.program.model_text);
    const auto ranks = static_cast<std::int32_t>(arrivals.size());
    const std::int64_t vector = vector_bytes(a.what, ranks, parse_bytes(o.bytes));
    if (a.segmented && o.segments == 0) how.segments = optimal_segments(m, ranks, vector);
    how.round_time = o.round_time.empty() ? time_ns{} : parse_round_time(o.round_time);
    if (how.round_time == time_ns{}) how.round_time = cautious_round_time(m, part_offset(vector, how.segments, 1));
    return how;
}

run_outcome run_all(const run_options& o, int me, int ranks) {
    experiment::settings data{collective_of(o), parse_bytes(o.bytes), o.datatype, o.op, o.root};
    if (!o.graph.empty()) data.neighbours = parse_graph(o.graph, ranks);
    experiment e(data, me, ranks);
    const neighbourhood around(o.graph);
    mpi::communicator ours(world);
    casting_communicators casting(ours);
    mpi::multicast* casts = nullptr;
    if (const auto settings = multicast_of(o)) casts = &casting.get(*settings);
    const std::vector<time_ns> arrivals = parse_arrivals(o.arrivals, ranks);
    const mpi::selection how = casts == nullptr ? choose(o, find_algorithm(o.id), arrivals) : mpi::selection();
    const time_ns delay = arrivals[static_cast<std::size_t>(me)];
    run_outcome result;
    result.segments = how.segments;
    std::uint64_t number = 0;
    // True if a rank has a wrong result.
    const auto wrong = [&] {
        result.difference = e.wrong();
        const std::int64_t first = among_ranks(result.difference.empty() ? ranks : me, MPI_MIN);
        if (first < ranks) result.wrong_rank = first;
        return first < ranks;
    };
    for (std::int32_t i = 0; i < o.program.repetitions; ++i) {
        const mpi::call c = e.prepare(++number);
        if (traits(data.what).in_mpi())
            result.native.push_back(measure(
                delay, [] {}, [&c] { mpi::run_native(world, c); }));
        if (traits(data.what).in_mpi() && wrong())
            throw error("the MPI library's own collective gives a wrong result", "this is an error in it or in rubato",
                        "try another version of the MPI library");
        const mpi::call again = e.prepare(++number);
        const auto name = [&] {
            if (how.use != nullptr && how.use->early) ours.expect(how, again);
        };
        result.ours.push_back(measure(delay, name, [&] {
            if (casts != nullptr)
                casts->bcast(again.recv, again.recv_count, again.recv_type, again.root);
            else
                ours.run(how, again);
        }));
        casting.say_why_not();
        if (wrong()) break;
    }
    result.plans = ours.plans();
    if (casts != nullptr) {
        result.by_tree = casts->counts().by_tree;
        result.why_not = casts->why_not();
    }
    return result;
}

void print(const run_options& o, const run_outcome& r, int ranks) {
    const time_ns run = median(r.ours, &run_times::run_time);
    const time_ns tail = median(r.ours, &run_times::tail);
    std::optional<run_times> native;
    if (!r.native.empty()) native = {median(r.native, &run_times::run_time), median(r.native, &run_times::tail)};
    const bool right = r.wrong_rank < 0;
    if (o.program.json) {
        base::json row{{"id", o.id},
                       {"ranks", ranks},
                       {"bytes", parse_bytes(o.bytes)},
                       {"segments", r.segments},
                       {"pattern", o.arrivals},
                       {"repetitions", r.ours.size()},
                       {"plan_hit_rate", r.plans.hit_rate()},
                       {"right", right},
                       {"run_time_ns", run},
                       {"tail_ns", tail}};
        if (native) row.update({{"native_run_time_ns", native->run_time}, {"native_tail_ns", native->tail}});
        if (multicast_of(o)) row.update({{"by_tree", r.by_tree}, {"why_not", r.why_not}});
        return write_out(pretty(row, -1));
    }
    table rows{{"", ">run time", ">tail"}, {o.id, format_time(run), format_time(tail)}};
    if (native) rows.push_back({"native", format_time(native->run_time), format_time(native->tail)});
    const bool moves = traits(collective_of(o)).moves_data();
    const std::string what = moves ? fmt::format("{} of {}, ", format_bytes(parse_bytes(o.bytes)), o.datatype) : "";
    write_out(fmt::format("{}, {}arrivals {}; medians of {}; plans found again {:.0f} %\n{}{}\n",
                          base::counted(ranks, "rank"), what, o.arrivals, r.ours.size(), 100 * r.plans.hit_rate(),
                          align(rows), right ? "the results are right" : "WRONG RESULTS"));
}

int run(const run_options& o) {
    // Early forms begin in the background, if MPI allows it.
    const int threads = o.id.ends_with("+early") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    return under_mpi(threads, [&o](int me, int ranks, bool&) {
        if (!o.program.file.empty()) return run_program(o.program, me, ranks) ? 0 : 1;
        const run_outcome r = run_all(o, me, ranks);
        if (me == 0) print(o, r, ranks);
        if (r.wrong_rank == me) fmt::print(stderr, "rubato: {}: {}\n", o.id, r.difference);
        return r.wrong_rank >= 0 ? 1 : 0;
    });
}

}  // namespace

void add_run(CLI::App* app, int& status) {
    auto o = std::make_shared<run_options>();
    add_value(*app, "ID", o->id, "", "the algorithm, such as reduce/binomial");
    add_value(*app, "--program", o->program.file, "FILE",
              "run a program instead, as 'rubato sim --program' has it, and simulate it; ranks sleep while they\n"
              "would compute");
    add_value(*app, "--plan", o->program.plan, "IDS", "the program's algorithms, such as allreduce/ring,bcast/chain");
    add_value(*app, "--noise", o->program.noise_text, "NOISE",
              "stop the ranks of the program now and then, such as fixed:period=50ms,duration=2ms,seed=1");
    add_value(*app, "-b,--bytes", o->bytes, "SIZE",
              "size of the vector, or of the buffer that has a chunk for each rank (default: 1MiB)");
    add_value(*app, "--arrivals", o->arrivals, "PATTERN",
              "when ranks arrive, such as single:rank=3,delay=5ms (default: balanced)");
    add_data(*app, o->datatype, o->op);
    add_integer(*app, "--root", o->root, "rank", 0, 1 << 30, "the root (default: 0)");
    add_graph(*app, o->graph);
    add_integer(*app, "-s,--segments", o->segments, "number of segments", 1, 1 << 20,
                "how many pieces a vector is cut into (default: 1; as the model suggests for plans in rounds)");
    add_parsed(*app, "--radix", "N[,N...]", "degree of a tree, ways of a dissemination, or factors such as 4,4,8",
               [o](const std::string& text) { o->radix = parse_list(text, "radix", 1, 1 << 20); });
    add_value(*app, "--model", o->program.model_text, "MODEL",
              "cost model, for programs and algorithms that plan in rounds (default: curie)");
    add_value(*app, "--round-time", o->round_time, "TIME",
              "how long it takes to send and combine a segment, for algorithms that plan in rounds\n"
              "(default: what the model says)");
    add_integer(*app, "--repetitions", o->program.repetitions, "number of repetitions", 1, 1 << 20,
                "how often each is called (default: 5)");
    add_flag(*app, "--json", o->program.json, "print an object");
    add_footer(*app, R"(
Start it with mpirun. Each rank's clock begins when the rank leaves a barrier, so times across hosts are only
as exact as that. Exit status 1 if a result is wrong.
Arrival-aware algorithms know the arrivals. The plan of an algorithm that plans in rounds (reduce/clairvoyant)
is right with any model, and fast if the model suits the machine.
'rubato help sim' lists the arrival patterns and the models.
bcast/multicast casts its data by UDP to all hosts at once, or says why it does not; bcast/multicast:insist
does so whatever is lost. RUBATO_MULTICAST_INTERFACE names the interface.
Examples:
  mpirun -n 8 rubato run reduce/binomial --bytes 1MiB
  mpirun -n 8 rubato run allreduce/ring --bytes 4MiB --datatype float --op max
  mpirun -n 8 rubato run neighbor_alltoall/combining --graph torus:4x2 --bytes 1KiB
  mpirun -n 8 rubato run reduce/chain --segments 16 --arrivals single:rank=7,delay=5ms
  mpirun -n 8 rubato run reduce/clairvoyant --segments 16 --arrivals single:rank=7,delay=5ms --round-time 40us
  mpirun -n 8 rubato run bcast/multicast --bytes 64KiB
  mpirun -n 16 rubato run --program examples/stencil.program --model gige --noise fixed:period=50ms,duration=2ms)");
    when_called(*app, [o, app, &status] {
        const bool single = o->program.file.empty();
        if (single && o->id.empty()) refuse_without("ID");
        if (single)
            refuse_given(*app, {"--plan", "--noise"}, "without --program", "it is about a program's calls",
                         "give a program, or leave it out");
        else
            refuse_given(*app,
                         {"ID", "--bytes", "--arrivals", "--datatype", "--op", "--root", "--graph", "--segments",
                          "--radix", "--round-time"},
                         "with --program", "the program says what is called, and when", "leave one of them out");
        if (single && multicast_of(*o)) {
            refuse_given(*app, {"--op", "--segments", "--radix", "--model", "--round-time"}, "has no effect",
                         fmt::format("{} does not use it", o->id), "leave it out");
        } else if (single) {
            const algorithm* const chosen = &find_algorithm(o->id);
            refuse_unused(*app, std::span(&chosen, 1));
            if (is_given(*app, "--model") && !chosen->uses_round_time())
                throw error("--model has no effect", fmt::format("{} does not plan in rounds", chosen->id),
                            "leave it out");
        }
        status = run(*o);
    });
}

}  // namespace rubato::command
