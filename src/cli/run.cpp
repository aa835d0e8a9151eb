// rubato run: one algorithm on real MPI, checked against the MPI library's own collective.
#include "command.hpp"
#include "rubato/arrival.hpp"
#include "rubato/layout.hpp"
#include "rubato/model.hpp"
#include "rubato/mpi.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

namespace rubato::cli {
namespace {

struct options {
    std::string id{};
    std::string bytes = "1MiB";
    std::string pattern = "balanced";
    std::string datatype = "double";
    std::string op = "sum";
    std::vector<std::int32_t> radix{};
    std::int32_t root = 0;
    std::int32_t segments = 0;  // not given
    std::string model_text = "curie";
    std::string round_time = "0";  // not given
    std::int32_t repetitions = 5;
    bool json = false;
};

struct datatype {
    std::string_view name;
    MPI_Datatype type;
    std::size_t size;
    void (*set)(std::byte* at, int value);
    std::string (*text)(const std::byte* at);
};

template <class T>
datatype make(std::string_view name, MPI_Datatype type) {
    return {name, type, sizeof(T),
            [](std::byte* at, int value) {
                const T v = static_cast<T>(value);
                std::memcpy(at, &v, sizeof v);
            },
            [](const std::byte* at) {
                T v;
                std::memcpy(&v, at, sizeof v);
                return fmt::format("{}", v);
            }};
}

datatype find_datatype(const std::string& name) {
    const std::array all{
        make<std::int8_t>("int8", MPI_INT8_T),
        make<std::int16_t>("int16", MPI_INT16_T),
        make<int>("int", MPI_INT),
        make<std::int64_t>("int64", MPI_INT64_T),
        make<unsigned>("unsigned", MPI_UNSIGNED),
        make<float>("float", MPI_FLOAT),
        make<double>("double", MPI_DOUBLE),
    };
    std::string names;
    for (const datatype& d : all) {
        if (d.name == name) return d;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", d.name);
    }
    throw error(fmt::format("unknown datatype '{}'", name), "rubato run knows " + names, "use one of them");
}

MPI_Op find_op(const std::string& name) {
    const std::array<std::pair<std::string_view, MPI_Op>, 10> all{{{"sum", MPI_SUM},
                                                                   {"prod", MPI_PROD},
                                                                   {"min", MPI_MIN},
                                                                   {"max", MPI_MAX},
                                                                   {"land", MPI_LAND},
                                                                   {"lor", MPI_LOR},
                                                                   {"lxor", MPI_LXOR},
                                                                   {"band", MPI_BAND},
                                                                   {"bor", MPI_BOR},
                                                                   {"bxor", MPI_BXOR}}};
    std::string names;
    for (const auto& [known, op] : all) {
        if (known == name) return op;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", known);
    }
    throw error(fmt::format("unknown operator '{}'", name), "rubato run knows " + names, "use one of them");
}

/// Small integers, so that sums are exact; of a product, only one rank's factor is not 1.
int element(std::int64_t unit, int rank, int ranks, MPI_Op op) {
    if (op == MPI_PROD) return unit % ranks == rank ? 2 : 1;
    return static_cast<int>((unit * 7 + std::int64_t{rank} * 3) % 5);
}

/// The data of one rank's call.
class experiment {
public:
    experiment(const options& o, const algorithm& a, int me, int ranks)
        : type_(find_datatype(o.datatype)), me_(me), ranks_(ranks) {
        const collective_traits& t = traits(a.what);
        call_.what = a.what;
        call_.root = o.root;
        call_.send_type = call_.recv_type = type_.type;
        if (t.reduces) call_.op = find_op(o.op);
        std::int64_t count = parse_bytes(o.bytes) / static_cast<std::int64_t>(type_.size);
        if (t.wide_input || t.wide_output) count /= ranks;  // --bytes is the whole of the wider buffer
        if (a.what == collective::barrier) count = 0;
        call_.send_count = call_.recv_count = count;
        if (t.irregular) {
            counts_.assign(static_cast<std::size_t>(ranks), count);
            for (int r = 0; r < ranks; ++r) places_.push_back(r * count);
            if (t.wide_input) call_.send_chunks = {counts_, places_};
            if (t.wide_output) call_.recv_chunks = {counts_, places_};
        }
        input_.resize(static_cast<std::size_t>(count * (t.wide_input ? ranks : 1)) * type_.size);
        output_.resize(static_cast<std::size_t>(count * (t.wide_output ? ranks : 1)) * type_.size);
    }

    mpi::call prepare() {
        for (std::size_t i = 0; i < input_.size(); i += type_.size)
            type_.set(&input_[i], element(static_cast<std::int64_t>(i / type_.size), me_, ranks_, call_.op));
        std::ranges::fill(output_, std::byte{0});
        mpi::call c = call_;
        c.send = input_.data();
        c.recv = output_.data();
        if (c.what == collective::bcast) {
            if (me_ == c.root) output_ = input_;
            c.send = c.recv;
        }
        return c;
    }
    /// Nothing is promised to the first rank of an exscan.
    const std::vector<std::byte>& result() {
        if (call_.what == collective::exscan && me_ == 0) std::ranges::fill(output_, std::byte{0});
        return output_;
    }
    const datatype& type() const { return type_; }

private:
    datatype type_;
    int me_;
    int ranks_;
    mpi::call call_{};
    std::vector<std::int64_t> counts_{}, places_{};
    std::vector<std::byte> input_{}, output_{};
};

struct times {
    time_ns run_time{};
    time_ns tail{};
};

/// Each rank's clock begins when it leaves the second of two barriers; it then says what comes, comes late as told, and
/// calls.
template <class Before, class F>
times measure(time_ns delay, Before before, F f) {
    mpi::run_native(MPI_COMM_WORLD, {collective::barrier});
    mpi::run_native(MPI_COMM_WORLD, {collective::barrier});
    using clock = std::chrono::steady_clock;
    const clock::time_point zero = clock::now();
    before();
    std::this_thread::sleep_until(zero + delay);
    const time_ns arrival = clock::now() - zero;
    f();
    const time_ns exit = clock::now() - zero;
    std::array<std::int64_t, 3> extremes{-arrival.count(), arrival.count(), exit.count()};
    MPI_Allreduce(MPI_IN_PLACE, extremes.data(), 3, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    return {time_ns(extremes[2] + extremes[0]), time_ns(extremes[2] - extremes[1])};
}

time_ns median(std::vector<times> all, time_ns times::*which) {
    std::ranges::sort(all, {}, which);
    return all[all.size() / 2].*which;
}

struct outcome {
    std::vector<times> ours{}, native{};
    std::uint32_t segments = 1;
    plan_cache::statistics plans{};
    std::int64_t wrong_rank = -1;  // first rank with a wrong element
    std::string difference{};      // known to that rank
};

/// Algorithms that use the time of a round get what suits the model, unless it is given.
mpi::selection choose(const options& o, const algorithm& a, const std::vector<time_ns>& arrivals) {
    mpi::selection how(a);
    how.segments = static_cast<std::uint32_t>(std::max(o.segments, 1));
    how.radix = o.radix;
    if (a.arrival_aware) how.arrivals = arrivals;
    if (!a.uses_round_time()) return how;
    const model m = parse_model(o.model_text);
    const std::int64_t bytes = parse_bytes(o.bytes);
    if (a.segmented && o.segments == 0)
        how.segments = optimal_segments(m, static_cast<std::int32_t>(arrivals.size()), bytes);
    how.round_time = parse_time(o.round_time);
    if (how.round_time == time_ns{}) how.round_time = segment_time(m, part_offset(bytes, how.segments, 1));
    return how;
}

outcome run_all(const options& o, const algorithm& a, int me, int ranks) {
    mpi::communicator world(MPI_COMM_WORLD);
    experiment e(o, a, me, ranks);
    const std::vector<time_ns> arrivals = parse_arrivals(o.pattern, ranks);
    const mpi::selection how = choose(o, a, arrivals);
    outcome result;
    result.segments = how.segments;
    for (std::int32_t i = 0; i < o.repetitions && result.wrong_rank < 0; ++i) {
        const time_ns delay = arrivals[static_cast<std::size_t>(me)];
        const mpi::call c = e.prepare();
        result.native.push_back(measure(
            delay, [] {}, [&c] { mpi::run_native(MPI_COMM_WORLD, c); }));
        const std::vector<std::byte> want = e.result();
        const mpi::call again = e.prepare();
        const auto name = [&] {
            if (a.early) world.expect(how, again);
        };
        result.ours.push_back(measure(delay, name, [&] { world.run(how, again); }));
        const std::vector<std::byte>& got = e.result();
        std::int64_t first = ranks;
        const auto [at, other] = std::ranges::mismatch(want, got);
        if (at != want.end()) {
            first = me;
            const auto unit = static_cast<std::size_t>(at - want.begin()) / e.type().size;
            result.difference =
                fmt::format("rank {}: element {} is {} instead of {}", me, unit,
                            e.type().text(&got[unit * e.type().size]), e.type().text(&want[unit * e.type().size]));
        }
        MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
        if (first < ranks) result.wrong_rank = first;
    }
    result.plans = world.plans();
    return result;
}

void print(const options& o, const outcome& r, int ranks) {
    const time_ns run = median(r.ours, &times::run_time);
    const time_ns tail = median(r.ours, &times::tail);
    const time_ns native_run = median(r.native, &times::run_time);
    const time_ns native_tail = median(r.native, &times::tail);
    const bool right = r.wrong_rank < 0;
    if (o.json) {
        const nlohmann::ordered_json row{{"id", o.id},
                                         {"ranks", ranks},
                                         {"bytes", parse_bytes(o.bytes)},
                                         {"segments", r.segments},
                                         {"pattern", o.pattern},
                                         {"repetitions", r.ours.size()},
                                         {"plan_hit_rate", r.plans.hit_rate()},
                                         {"right", right},
                                         {"run_time_ns", run.count()},
                                         {"tail_ns", tail.count()},
                                         {"native_run_time_ns", native_run.count()},
                                         {"native_tail_ns", native_tail.count()}};
        write_out(row.dump() + "\n");
        return;
    }
    const std::vector<std::vector<std::string>> rows{{"", "run time", "tail"},
                                                     {o.id, format_time(run), format_time(tail)},
                                                     {"native", format_time(native_run), format_time(native_tail)}};
    write_out(fmt::format("{} ranks, {} of {}, arrivals {}; medians of {}; plans found again {:.0f} %\n{}{}\n", ranks,
                          format_bytes(parse_bytes(o.bytes)), o.datatype, o.pattern, r.ours.size(),
                          100 * r.plans.hit_rate(), align(rows, {false, true, true}),
                          right ? "the results equal the native collective's" : "WRONG RESULTS"));
}

/// What any rank finds wrong before it communicates, all of them find; only the first says it.
int run(const options& o) {
    int level = 0;  // what begins early does so in the background, if MPI allows it
    MPI_Init_thread(nullptr, nullptr, o.id.ends_with("+early") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int me = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int status = 0;
    try {
        const outcome r = run_all(o, find_algorithm(o.id), me, ranks);
        if (me == 0) print(o, r, ranks);
        if (r.wrong_rank >= 0) status = 1;
        if (r.wrong_rank == me) fmt::print(stderr, "rubato: {}: {}\n", o.id, r.difference);
    } catch (const error& e) {
        if (me == 0) fmt::print(stderr, "rubato: {}\n", e.what());
        status = 2;
    }
    MPI_Finalize();
    return status;
}

}  // namespace

void add_run(CLI::App& command, int& status) {
    auto o = std::make_shared<options>();
    CLI::App& sub =
        *command.add_subcommand("run", "run an algorithm on MPI and check it against the native collective");
    sub.add_option("id", o->id, "the algorithm, as 'rubato algorithms' lists it")->required();
    sub.add_option("--bytes", o->bytes, "size of the vector, or of the wider buffer in all (default 1MiB)");
    sub.add_option("--pattern,--arrivals", o->pattern, "when ranks arrive (default balanced)");
    sub.add_option("--datatype", o->datatype, "int8, int16, int, int64, unsigned, float or double (default)");
    sub.add_option("--op", o->op, "sum (default), prod, min, max, land, lor, lxor, band, bor or bxor");
    add_integer(sub, "--root", o->root, "root", 0, 1 << 30, "the root (default 0)");
    add_integer(sub, "--segments", o->segments, "number of segments", 1, 1 << 20,
                "pieces of the vector (default 1, or what suits the model where a plan is made in rounds)");
    sub.add_option("--model", o->model_text, "cost model, for algorithms that plan in rounds (default curie)");
    sub.add_option("--round-time", o->round_time, "how long sending and combining a segment takes, for these");
    add_integer(sub, "--repetitions", o->repetitions, "number of repetitions", 1, 1 << 20, "how often (default 5)");
    sub.add_option_function<std::string>(
        "--radix", [o](const std::string& text) { o->radix = parse_list(text, "radix", 1, 1 << 20); },
        "degree or radix vector, as 4,4,8");
    sub.add_flag("--json", o->json, "one JSON object");
    sub.footer(
        "Start it with mpirun. Each rank's clock begins when it leaves a barrier, so times across hosts are only as "
        "exact\n"
        "as that. Exit status 1 if a result is wrong.\n"
        "Arrival-aware algorithms are told the arrivals. Those that plan in rounds (reduce/clairvoyant) take the "
        "number of\n"
        "segments and the time of a round from the model, unless given: the plan is right with any, but fast only if "
        "that\n"
        "suits the machine.\n\n"
        "Examples:\n"
        "  mpirun -n 8 rubato run reduce/binomial --bytes 1MiB\n"
        "  mpirun -n 8 rubato run allreduce/ring --bytes 4MiB --datatype float --op max\n"
        "  mpirun -n 8 rubato run reduce/chain --segments 16 --pattern single:rank=7,delay=5ms\n"
        "  mpirun -n 8 rubato run reduce/clairvoyant --segments 16 --pattern single:rank=7,delay=5ms --round-time "
        "40us");
    sub.callback([o, &status] { status = run(*o); });
}

}  // namespace rubato::cli
