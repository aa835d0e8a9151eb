// rubato run: one algorithm on real MPI, beside the MPI library's own collective, and checked.
#include "bench/contestants.hpp"
#include "bench/experiment.hpp"
#include "bench/world.hpp"
#include "cli/command.hpp"
#include "cli/mpi/run_program.hpp"
#include "core/text.hpp"
#include "core/wire.hpp"
#include "mpi/datatype.hpp"
#include "rubato/arrival.hpp"
#include "rubato/layout.hpp"
#include "rubato/model.hpp"
#include "rubato/mpi.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <thread>

namespace rubato::cli {
namespace {

using namespace bench;

struct run_options {
    std::string id{};
    std::string bytes = "1MiB";
    std::string arrivals = "balanced";
    std::string datatype = "double";
    std::string op = "sum";
    std::vector<std::int32_t> radix{};
    std::int32_t root = 0;
    std::string graph{};
    std::int32_t segments = 0;  // not given
    std::string model_text = "curie";
    std::string round_time{};  // not given
    std::int32_t repetitions = 5;
    bool json = false;
    run_program_options program{};
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
    struct {
        std::int64_t before_first;
        std::int64_t last;
        std::int64_t exit;
    } latest{-arrival.count(), arrival.count(), exit.count()};
    mpi::check(MPI_Allreduce(MPI_IN_PLACE, &latest, numbers_in(latest), MPI_INT64_T, MPI_MAX, world), "MPI_Allreduce");
    return {time_ns(latest.exit + latest.before_first), time_ns(latest.exit - latest.last)};
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
    const model m = parse_model(o.model_text);
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
        std::int64_t first = result.difference.empty() ? ranks : me;
        mpi::check(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT64_T, MPI_MIN, world), "MPI_Allreduce");
        if (first < ranks) result.wrong_rank = first;
        return first < ranks;
    };
    for (std::int32_t i = 0; i < o.repetitions; ++i) {
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
    const bool has_native = !r.native.empty();
    const time_ns native_run = has_native ? median(r.native, &run_times::run_time) : time_ns{};
    const time_ns native_tail = has_native ? median(r.native, &run_times::tail) : time_ns{};
    const bool right = r.wrong_rank < 0;
    if (o.json) {
        nlohmann::ordered_json row{{"id", o.id},
                                   {"ranks", ranks},
                                   {"bytes", parse_bytes(o.bytes)},
                                   {"segments", r.segments},
                                   {"pattern", o.arrivals},
                                   {"repetitions", r.ours.size()},
                                   {"plan_hit_rate", r.plans.hit_rate()},
                                   {"right", right},
                                   {"run_time_ns", run.count()},
                                   {"tail_ns", tail.count()}};
        if (has_native) {
            row["native_run_time_ns"] = native_run.count();
            row["native_tail_ns"] = native_tail.count();
        }
        if (multicast_of(o)) {
            row["by_tree"] = r.by_tree;
            row["why_not"] = r.why_not;
        }
        write_out(row.dump() + "\n");
        return;
    }
    std::vector<std::vector<std::string>> rows{{"", "run time", "tail"}, {o.id, format_time(run), format_time(tail)}};
    if (has_native) rows.push_back({"native", format_time(native_run), format_time(native_tail)});
    const bool moves = traits(collective_of(o)).moves_data();
    const std::string what = moves ? fmt::format("{} of {}, ", format_bytes(parse_bytes(o.bytes)), o.datatype) : "";
    write_out(fmt::format("{}, {}arrivals {}; medians of {}; plans found again {:.0f} %\n{}{}\n",
                          counted(ranks, "rank"), what, o.arrivals, r.ours.size(), 100 * r.plans.hit_rate(),
                          align(rows, {false, true, true}), right ? "the results are right" : "WRONG RESULTS"));
}

/// Before ranks communicate, all find the same errors; only the first reports them.
int run(const run_options& o) {
    int level = 0;  // early forms begin in the background, if MPI allows it
    mpi::check(
        MPI_Init_thread(nullptr, nullptr, o.id.ends_with("+early") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level),
        "MPI_Init_thread");
    mpi::check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    int me = 0;
    int ranks = 1;
    mpi::check(MPI_Comm_rank(MPI_COMM_WORLD, &me), "MPI_Comm_rank");
    mpi::check(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
    int status = 0;
    try {
        if (!o.program.file.empty()) {
            status = run_program(o.program, me, ranks) ? 0 : 1;
        } else {
            const run_outcome r = run_all(o, me, ranks);
            if (me == 0) print(o, r, ranks);
            if (r.wrong_rank >= 0) status = 1;
            if (r.wrong_rank == me) fmt::print(stderr, "rubato: {}: {}\n", o.id, r.difference);
        }
    } catch (const error& e) {
        if (me == 0) fmt::print(stderr, "rubato: {}\n", e.what());
        status = 2;
    }
    mpi::check(MPI_Finalize(), "MPI_Finalize");
    return status;
}

}  // namespace

void add_run(CLI::App& command, int& status) {
    auto o = std::make_shared<run_options>();
    CLI::App& sub =
        *command.add_subcommand("run", "run an algorithm on MPI and check it against the native collective");
    sub.add_option("ID", o->id, "the algorithm, such as reduce/binomial");
    sub.add_option("--program", o->program.file,
                   "run a program instead, as 'rubato sim --program' has it, and simulate it; ranks sleep while they\n"
                   "would compute")
        ->type_name("FILE");
    sub.add_option("--plan", o->program.plan, "the program's algorithms, such as allreduce/ring,bcast/chain")
        ->type_name("IDS");
    sub.add_option("--noise", o->program.noise_text,
                   "stop the ranks of the program now and then, such as fixed:period=50ms,duration=2ms,seed=1")
        ->type_name("NOISE");
    sub.add_option("-b,--bytes", o->bytes,
                   "size of the vector, or of the buffer that has a chunk for each rank (default: 1MiB)")
        ->type_name("SIZE");
    sub.add_option("--arrivals", o->arrivals, "when ranks arrive, such as single:rank=3,delay=5ms (default: balanced)")
        ->type_name("PATTERN");
    add_data(sub, o->datatype, o->op);
    add_integer(sub, "--root", o->root, "rank", 0, 1 << 30, "the root (default: 0)");
    add_graph(sub, o->graph);
    add_integer(sub, "-s,--segments", o->segments, "number of segments", 1, 1 << 20,
                "how many pieces a vector is cut into (default: 1; as the model suggests for plans in rounds)");
    sub.add_option_function<std::string>(
           "--radix", [o](const std::string& text) { o->radix = parse_list(text, "radix", 1, 1 << 20); },
           "degree of a tree, ways of a dissemination, or factors such as 4,4,8")
        ->type_name("N[,N...]");
    sub.add_option("--model", o->model_text,
                   "cost model, for programs and algorithms that plan in rounds (default: curie)")
        ->type_name("MODEL");
    sub.add_option("--round-time", o->round_time,
                   "how long it takes to send and combine a segment, for algorithms that plan in rounds\n"
                   "(default: what the model says)")
        ->type_name("TIME");
    add_integer(sub, "--repetitions", o->repetitions, "number of repetitions", 1, 1 << 20,
                "how often each is called (default: 5)");
    sub.add_flag("--json", o->json, "print an object");
    sub.footer(
        "Start it with mpirun. Each rank's clock begins when the rank leaves a barrier, so times across hosts are "
        "only\n"
        "as exact as that. Exit status 1 if a result is wrong.\n"
        "Arrival-aware algorithms know the arrivals. The plan of an algorithm that plans in rounds "
        "(reduce/clairvoyant)\n"
        "is right with any model, and fast if the model suits the machine.\n"
        "'rubato help sim' lists the arrival patterns and the models.\n"
        "bcast/multicast casts its data by UDP to all hosts at once, or says why it does not; bcast/multicast:insist\n"
        "does so whatever is lost. RUBATO_MULTICAST_INTERFACE names the interface.\n"
        "Examples:\n"
        "  mpirun -n 8 rubato run reduce/binomial --bytes 1MiB\n"
        "  mpirun -n 8 rubato run allreduce/ring --bytes 4MiB --datatype float --op max\n"
        "  mpirun -n 8 rubato run neighbor_alltoall/combining --graph torus:4x2 --bytes 1KiB\n"
        "  mpirun -n 8 rubato run reduce/chain --segments 16 --arrivals single:rank=7,delay=5ms\n"
        "  mpirun -n 8 rubato run reduce/clairvoyant --segments 16 --arrivals single:rank=7,delay=5ms --round-time "
        "40us\n"
        "  mpirun -n 8 rubato run bcast/multicast --bytes 64KiB\n"
        "  mpirun -n 16 rubato run --program examples/stencil.program --model gige --noise "
        "fixed:period=50ms,duration=2ms");
    sub.callback([o, &sub, &status] {
        if (!o->program.file.empty()) {
            for (const char* option : {"ID", "--bytes", "--arrivals", "--datatype", "--op", "--root", "--graph",
                                       "--segments", "--radix", "--round-time"})
                if (sub.count(option) > 0)
                    throw error(fmt::format("{} with --program", option), "the program says what is called, and when",
                                "leave one of them out");
            o->program.model_text = o->model_text;
            o->program.repetitions = o->repetitions;
            o->program.json = o->json;
            status = run(*o);
            return;
        }
        if (o->id.empty()) throw CLI::RequiredError("ID");
        for (const char* option : {"--plan", "--noise"})
            if (sub.count(option) > 0)
                throw error(fmt::format("{} without --program", option), "it is about a program's calls",
                            "give a program, or leave it out");
        if (multicast_of(*o)) {
            for (const char* option : {"--op", "--segments", "--radix", "--model", "--round-time"})
                if (sub.count(option) > 0)
                    throw error(fmt::format("{} has no effect", option), fmt::format("{} does not use it", o->id),
                                "leave it out");
            status = run(*o);
            return;
        }
        const algorithm* const chosen = &find_algorithm(o->id);
        refuse_unused(sub, std::span(&chosen, 1));
        if (sub.count("--model") > 0 && !chosen->uses_round_time())
            throw error("--model has no effect", fmt::format("{} does not plan in rounds", chosen->id), "leave it out");
        status = run(*o);
    });
}

}  // namespace rubato::cli
