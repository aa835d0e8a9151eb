// Ranks sleep while they would compute, so that there may be more of them than cores.
#include "command/cli/mpi/run_program.hpp"

#include "base/core/text.hpp"
#include "base/statistics/statistics.hpp"
#include "command/cli/columns.hpp"
#include "command/cli/sim_program.hpp"
#include "command/experiments/experiment.hpp"
#include "command/experiments/noise_maker.hpp"
#include "command/experiments/world.hpp"
#include "engine/mpi/datatype.hpp"
#include "engine/mpi/process_topology.hpp"

#include <thread>

namespace rubato::command {
namespace {

constexpr const char* another = "another rank has a wrong result";

/// A call of the program on this rank.
struct real_call {
    mpi::selection how{};
    std::unique_ptr<experiment> data{};
    mpi::communicator* on = nullptr;
};

/// Communicators that have the neighbours of a graph, or none.
class communicators {
public:
    communicators() = default;
    ~communicators() {
        for (auto& [text, c] : all_) {
            c.ours.reset();
            if (c.native != MPI_COMM_WORLD) MPI_Comm_free(&c.native);
        }
    }
    communicators(const communicators&) = delete;
    communicators& operator=(const communicators&) = delete;

    mpi::communicator& get(const std::string& graph_text) {
        one& c = all_[graph_text];
        if (!c.ours) {
            if (!graph_text.empty()) c.native = engine::with_neighbours(MPI_COMM_WORLD, graph_text);
            c.ours = std::make_unique<mpi::communicator>(c.native);
        }
        return *c.ours;
    }

private:
    struct one {
        MPI_Comm native = MPI_COMM_WORLD;
        std::unique_ptr<mpi::communicator> ours{};
    };
    std::map<std::string, one> all_{};
};

std::vector<real_call> prepare(const simulator::program& p, const simulator::played_program& expected,
                               communicators& on, int me) {
    std::vector<real_call> calls;
    for (std::size_t i = 0; i < p.calls.size(); ++i) {
        const simulator::program_call& c = p.calls[i];
        real_call made;
        made.how = mpi::selection(expected.calls[i].id);
        made.how.segments = expected.calls[i].segments;
        made.how.round_time = expected.calls[i].round_time;
        experiment::settings data;
        data.what = c.what;
        data.bytes = c.chunk * traits(c.what).sized_chunks(p.ranks);
        data.root = c.root.value;
        data.neighbours = c.neighbours;
        if (c.chunk % static_cast<std::int64_t>(sizeof(double)) != 0)
            throw error(fmt::format("{}: {} bytes", c.place, c.chunk), "what is sent are doubles",
                        "give a multiple of 8 bytes");
        made.data = std::make_unique<experiment>(data, me, p.ranks);
        made.on = &on.get(c.graph_text);
        calls.push_back(std::move(made));
    }
    return calls;
}

struct measured_program {
    std::vector<time_ns> run_times{};
    std::vector<std::vector<time_ns>> of_calls{};  ///< means over the events of a call, of each repetition
    std::string wrong{};
};

/// The latest of all ranks.
void latest(std::vector<std::int64_t>& times) {
    engine::check(
        MPI_Allreduce(MPI_IN_PLACE, times.data(), static_cast<int>(times.size()), MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD),
        "MPI_Allreduce");
}

/// The program once, from a moment on at which no rank has begun.
class repetition {
public:
    repetition(const simulator::program& p, std::vector<real_call>& calls, const noise& detours, int me)
        : p_(p), calls_(calls), detours_(detours), me_(static_cast<std::uint32_t>(me)) {}

    void run(const common_clock& clock) {
        std::vector<mpi::call> prepared;
        for (real_call& c : calls_) prepared.push_back(c.data->prepare(1));
        // Ranks agree on a moment that is later for all of them.
        constexpr time_ns soon = std::chrono::milliseconds(20);
        std::vector<std::int64_t> begin{(clock.now() + soon).count()};
        latest(begin);
        const time_ns zero = own_time() + (time_ns(begin[0]) - clock.now());
        noise::processor processor = detours_.of(me_);
        std::this_thread::sleep_until(std::chrono::steady_clock::time_point(zero));
        const noise_maker disturbs(detours_, me_, zero);
        for (const simulator::program_event& e : p_.events) {
            compute(processor, zero, e.computing[me_]);
            if (e.call == p_.calls.size()) continue;
            real_call& c = calls_[e.call];
            if (c.how.use->arrival_aware) c.how.arrivals = as_planned(e.computing);
            arrivals_.push_back((own_time() - zero).count());
            c.on->run(c.how, prepared[e.call]);
            exits_.push_back((own_time() - zero).count());
        }
        end_ = (own_time() - zero).count();
        for (const real_call& c : calls_)
            if (wrong_.empty()) wrong_ = c.data->wrong();
    }

    void add_to(measured_program& all) {
        std::vector<std::int64_t> last{end_, wrong_.empty() ? 0 : 1};
        latest(last);
        all.run_times.emplace_back(last[0]);
        if (all.wrong.empty()) all.wrong = !wrong_.empty() ? wrong_ : last[1] == 0 ? "" : another;
        for (std::int64_t& t : arrivals_) t = -t;
        latest(arrivals_);
        latest(exits_);
        std::vector<time_ns> sums(calls_.size());
        std::vector<std::int64_t> counts(calls_.size());
        std::size_t i = 0;
        for (const simulator::program_event& e : p_.events) {
            if (e.call == p_.calls.size()) continue;
            sums[e.call] += time_ns(exits_[i] + arrivals_[i]);
            ++counts[e.call];
            ++i;
        }
        for (std::size_t c = 0; c < sums.size(); ++c) sums[c] /= std::max<std::int64_t>(1, counts[c]);
        all.of_calls.push_back(std::move(sums));
    }

private:
    void compute(noise::processor& processor, time_ns zero, time_ns how_long) {
        if (how_long <= time_ns{}) return;
        const time_ns now = own_time() - zero;
        const time_ns end = processor.end_of(now, how_long);
        std::this_thread::sleep_until(std::chrono::steady_clock::time_point(zero + end));
    }

    /// As the simulation has planned by them.
    static std::vector<time_ns> as_planned(std::vector<time_ns> arrivals) {
        const time_ns first = std::ranges::min(arrivals);
        for (time_ns& t : arrivals) t -= first;
        return arrivals;
    }

    const simulator::program& p_;
    std::vector<real_call>& calls_;
    const noise& detours_;
    std::uint32_t me_;
    std::vector<std::int64_t> arrivals_{}, exits_{};
    std::int64_t end_ = 0;
    std::string wrong_{};
};

std::vector<double> numbers(const std::vector<time_ns>& times) {
    std::vector<double> all;
    all.reserve(times.size());
    for (const time_ns t : times) all.push_back(static_cast<double>(t.count()));
    return all;
}

time_ns median_of(const measured_program& m, std::size_t call) {
    std::vector<time_ns> all;
    for (const std::vector<time_ns>& times : m.of_calls) all.push_back(times[call]);
    return time_ns(static_cast<std::int64_t>(base::median(numbers(all))));
}

std::string difference(time_ns simulated, double measured) {
    return measured <= 0 ? "-"
                         : fmt::format("{:+.1f} %", 100 * (static_cast<double>(simulated.count()) / measured - 1));
}

/// A row per call of the program.
columns<std::size_t> columns_of(const simulator::program& p, const simulator::played_program& s,
                                const measured_program& m) {
    return {
        {"CALL", "place", [&](std::size_t i) { return p.calls[i].place; }},
        {"ALGORITHM", "id", [&](std::size_t i) { return s.calls[i].id; }},
        {">CHUNK", "chunk_bytes", [&](std::size_t i) { return bytes_cell(p.calls[i].chunk); }},
        {">SEGMENTS", "segments", [&](std::size_t i) { return s.calls[i].segments; }},
        {">TIMES", "count", [&](std::size_t i) { return s.calls[i].count; }},
        {">MEASURED", "measured_ns", [&](std::size_t i) { return median_of(m, i); }},
        {">SIMULATED", "simulated_ns", [&](std::size_t i) { return s.calls[i].run_time; }},
        {">DIFFERENCE", "",
         [&](std::size_t i) {
             return only_text(difference(s.calls[i].run_time, static_cast<double>(median_of(m, i).count())));
         }},
    };
}

std::string as_text(const run_program_options& o, const simulator::program& p, const simulator::played_program& s,
                    const measured_program& m) {
    const base::estimate e = base::estimate_median(numbers(m.run_times));
    const auto time = [](double ns) { return format_time(time_ns(static_cast<std::int64_t>(ns))); };
    const time_ns simulated = std::ranges::max(s.exits);
    const std::string disturbed = o.noise_text.empty() ? "" : ", noise " + o.noise_text;
    return fmt::format("{}: {}, {}, {}, model {}{}\n\nmeasured   {} [{}, {}], {}\nsimulated  {}, {}\n\n{}", o.file,
                       base::counted(p.ranks, "rank"), base::counted(p.events.size(), "call"),
                       base::counted(s.messages, "message"), o.model_text, disturbed, time(e.value), time(e.low),
                       time(e.high), base::counted(m.run_times.size(), "time"), format_time(simulated),
                       difference(simulated, e.value), as_table(columns_of(p, s, m), numbers_to(p.calls.size())));
}

std::string as_json(const run_program_options& o, const simulator::program& p, const simulator::played_program& s,
                    const measured_program& m) {
    return pretty({{"program", o.file},
                   {"ranks", p.ranks},
                   {"model", o.model_text},
                   {"noise", o.noise_text},
                   {"right", m.wrong.empty()},
                   {"simulated_ns", std::ranges::max(s.exits)},
                   {"measured_ns", m.run_times},
                   {"calls", as_array(columns_of(p, s, m), numbers_to(p.calls.size()))}},
                  -1);
}

}  // namespace

bool run_program(const run_program_options& o, int me, int ranks) {
    simulator::program p;
    noise detours;
    simulator::played_program expected;
    communicators on;
    mpi::communicator& all = on.get("");
    throw_together([&] {
        p = simulator::read_program(o.file, ranks);
        const simulator::program_plan plan = plan_for(p, o.plan);
        if (!o.noise_text.empty()) detours = parse_noise(o.noise_text);
        simulation_options how;
        how.hosts = all.hosts();
        how.detours = &detours;
        expected = simulator::play(p, parse_model(o.model_text), plan, how);
    });
    std::vector<real_call> calls = prepare(p, expected, on, me);
    measured_program m;
    for (std::int32_t i = 0; i < o.repetitions; ++i) {
        all.synchronise();
        repetition r(p, calls, detours, me);
        r.run(all.clock());
        r.add_to(m);
    }
    if (me == 0) write_out(o.json ? as_json(o, p, expected, m) : as_text(o, p, expected, m));
    if (!m.wrong.empty() && m.wrong != another) fmt::print(stderr, "rubato: {}: {}\n", o.file, m.wrong);
    return m.wrong.empty();
}

}  // namespace rubato::command
