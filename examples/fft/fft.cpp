// A parallel FFT whose scatter and gather are Rubato's or the MPI library's: Proficz 2020, sec. 6 and Table 5.
#include "application.hpp"

#include "rubato/arrival.hpp"
#include "rubato/mpi.hpp"
#include "rubato/pat.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <thread>

namespace {

using rubato::time_ns;

struct options {
    std::vector<std::string> gathers{"native",
                                     "gather/linear_sync",
                                     "gather/binomial",
                                     "gather/sorted_linear_sync",
                                     "gather/sorted_binomial",
                                     "gather/sorted_linear_sync+early",
                                     "gather/sorted_binomial+early"};
    std::string scatter = fft::native;
    std::string size = "256Ki";
    std::string arrivals = "balanced";
    std::string iterations = "1000";
    std::string block = "10";
    std::string threads{};  // not given
    std::string seed = "1";
    bool json = false;
};

/// What is measured of one algorithm. Only rank 0 has more than the visits.
struct outcome {
    std::vector<fft::visit> visits{};
    time_ns total{};
    double error = 0;                            // the larger one of the first and the last iteration
    double run_time = 0, elapsed = 0, tail = 0;  // means, in nanoseconds
};

/// Single precision is good for 1e-6 here; one wrong element among a hundred million makes 1e-4.
constexpr double error_bound = 1e-5;

struct place {
    int me = 0;
    int ranks = 1;
    int ranks_of_host = 1;
};

place find_place() {
    place p;
    MPI_Comm_rank(MPI_COMM_WORLD, &p.me);
    MPI_Comm_size(MPI_COMM_WORLD, &p.ranks);
    MPI_Comm host = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &p.ranks_of_host);
    MPI_Comm_free(&host);
    return p;
}

/// The values of `options` that a rank computes with; every rank finds the same errors in them.
struct settings {
    settings(const options& o, const place& p);

    std::int64_t floats;
    std::int64_t iterations;
    std::int64_t block;
    int threads;
    std::uint32_t seed;
    std::vector<time_ns> delays{};  // this rank's, one per iteration
};

settings::settings(const options& o, const place& p)
    : floats(rubato::parse_bytes(o.size)),
      iterations(rubato::parse_integer(o.iterations, "number of iterations", 1, 1 << 30)),
      block(rubato::parse_integer(o.block, "number of iterations in a block", 1, 1 << 30)),
      threads(fft::has_threads() ? std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / p.ranks_of_host)
                                 : 1),
      seed(static_cast<std::uint32_t>(rubato::parse_integer(o.seed, "seed", 0, 1 << 30))) {
    if (floats < 4 || floats % (std::int64_t{4} * p.ranks) != 0 || floats > 1 << 30)
        throw rubato::error(fmt::format("a signal of {} floats over {} ranks", floats, p.ranks),
                            "each rank transforms as many complex numbers as the others, in two halves",
                            "give --size a multiple of four times the ranks, up to 1Gi");
    if (!o.threads.empty()) threads = static_cast<int>(rubato::parse_integer(o.threads, "number of threads", 1, 1024));
    if (threads > 1 && !fft::has_threads())
        throw rubato::error("more than one thread", "this was built without OpenMP or FFTW's library for it",
                            "give --threads 1, or build with both");
    for (const std::string& id : o.gathers)
        if (id != fft::native && !id.starts_with("gather/"))
            throw rubato::error(fmt::format("'{}' is no gather", id), "the results are gathered",
                                "give 'native' or one that 'rubato algorithms gather' lists");
    if (o.scatter != fft::native && !o.scatter.starts_with("scatter/"))
        throw rubato::error(fmt::format("'{}' is no scatter", o.scatter), "the signal is scattered",
                            "give 'native' or one that 'rubato algorithms scatter' lists");
    for (std::int64_t i = 0; i < iterations; ++i)
        delays.push_back(rubato::parse_arrivals(o.arrivals, p.ranks, i)[static_cast<std::size_t>(p.me)]);
}

/// Iterations `begin` to `end` of one algorithm.
void run_block(fft::application& app, const settings& s, const place& p, std::int64_t begin, std::int64_t end,
               outcome& r) {
    fft::check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    for (std::int64_t i = begin; i < end; ++i) {
        const bool checked = i == 0 || i + 1 == s.iterations;
        if (checked) app.forget();
        const auto start = std::chrono::steady_clock::now();
        r.visits.push_back(app.iterate(s.delays[static_cast<std::size_t>(i)]));
        r.total += std::chrono::steady_clock::now() - start;
        const double error = checked && p.me == 0 ? app.error() : 0;
        if (std::isnan(error) || error > r.error) r.error = error;
    }
}

/// Algorithms take turns, a block of iterations each, so that other load affects all alike; each round begins with
/// another one, so that none always follows the same. A first round makes connections and is not measured.
std::vector<outcome> run_all(const options& o, const settings& s, const place& p) {
    fft::use_threads(s.threads);
    fft::application app(static_cast<std::size_t>(s.floats / 2), s.threads, s.seed, MPI_COMM_WORLD);
    for (const std::string& id : o.gathers) app.use(o.scatter, id);  // an unknown one is found before it starts
    std::vector<outcome> all(o.gathers.size());
    const auto round = [&](std::int64_t begin) {
        for (std::size_t turn = 0; turn < all.size(); ++turn) {
            const std::size_t a = (turn + static_cast<std::size_t>(begin / s.block)) % all.size();
            app.use(o.scatter, o.gathers[a]);
            run_block(app, s, p, begin, std::min(begin + s.block, s.iterations), all[a]);
        }
    };
    round(0);
    for (outcome& r : all) r = {.error = r.error};
    for (std::int64_t begin = 0; begin < s.iterations; begin += s.block) round(begin);
    return all;
}

/// From the visits of all ranks, the means that Table 5 has, at rank 0.
void reduce(outcome& r, const place& p, const rubato::common_clock& clock) {
    const std::size_t n = r.visits.size();
    std::vector<std::int64_t> extremes(3 * n);  // of each iteration: -arrival, arrival, exit
    std::int64_t elapsed = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const time_ns arrival = clock.to_common(r.visits[i].arrival);
        const time_ns exit = clock.to_common(r.visits[i].exit);
        extremes[3 * i] = -arrival.count();
        extremes[3 * i + 1] = arrival.count();
        extremes[3 * i + 2] = exit.count();
        elapsed += (exit - arrival).count();
    }
    std::vector<std::int64_t> most(extremes.size());
    std::int64_t all_elapsed = 0;
    fft::check(MPI_Reduce(extremes.data(), most.data(), static_cast<int>(most.size()), MPI_INT64_T, MPI_MAX, 0,
                          MPI_COMM_WORLD),
               "MPI_Reduce");
    fft::check(MPI_Reduce(&elapsed, &all_elapsed, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD), "MPI_Reduce");
    for (std::size_t i = 0; i < n; ++i) {
        r.run_time += static_cast<double>(most[3 * i + 2] + most[3 * i]) / static_cast<double>(n);
        r.tail += static_cast<double>(most[3 * i + 2] - most[3 * i + 1]) / static_cast<double>(n);
    }
    r.elapsed = static_cast<double>(all_elapsed) / static_cast<double>(n) / p.ranks;
}

/// Over all ranks.
time_ns worst(time_ns mine) {
    std::int64_t most = mine.count();
    fft::check(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
    return time_ns(most);
}

void print(const options& o, const settings& s, const place& p, time_ns clock_error, const std::vector<outcome>& all) {
    const auto whole = [](double t) { return time_ns(static_cast<std::int64_t>(t)); };
    if (o.json) {
        nlohmann::ordered_json rows = nlohmann::ordered_json::array();
        for (std::size_t a = 0; a < all.size(); ++a)
            rows.push_back({{"gather", o.gathers[a]},
                            {"total_ns", all[a].total.count()},
                            {"run_time_ns", whole(all[a].run_time).count()},
                            {"elapsed_ns", whole(all[a].elapsed).count()},
                            {"tail_ns", whole(all[a].tail).count()},
                            {"error", all[a].error}});
        const nlohmann::ordered_json object{{"ranks", p.ranks},      {"floats", s.floats},
                                            {"threads", s.threads},  {"scatter", o.scatter},
                                            {"pattern", o.arrivals}, {"iterations", s.iterations},
                                            {"block", s.block},      {"clock_error_ns", clock_error.count()},
                                            {"algorithms", rows}};
        fmt::print("{}\n", object.dump());
        return;
    }
    fmt::print("{} ranks of {} thread{}, {} floats, scatter {}, arrivals {}; {} iterations, clocks within {}\n",
               p.ranks, s.threads, s.threads == 1 ? "" : "s", s.floats, o.scatter, o.arrivals, s.iterations,
               rubato::format_time(clock_error));
    fmt::print("{:<32}{:>12}{:>12}{:>12}{:>12}{:>10}\n", "gather", "total", "run time", "elapsed", "tail", "error");
    for (std::size_t a = 0; a < all.size(); ++a) {
        const outcome& r = all[a];
        fmt::print("{:<32}{:>12}{:>12}{:>12}{:>12}{:>10.1e}\n", o.gathers[a], rubato::format_time(r.total),
                   rubato::format_time(whole(r.run_time)), rubato::format_time(whole(r.elapsed)),
                   rubato::format_time(whole(r.tail)), r.error);
    }
}

/// Before ranks communicate, all find the same errors; afterwards the other ranks may be waiting.
int run(const options& o, const place& p) {
    int wrong = 0;
    try {
        const settings s(o, p);
        try {
            // Used only for its clock, which is read before and after the run, as clocks may drift meanwhile.
            rubato::mpi::communicator world(MPI_COMM_WORLD, {.background = false});
            const time_ns begin = rubato::own_time();
            fft::check(PAT_Init(), "PAT_Init");
            std::vector<outcome> all = run_all(o, s, p);
            fft::check(PAT_Finalize(), "PAT_Finalize");
            world.synchronise();
            for (outcome& r : all) reduce(r, p, world.clock());
            const time_ns clock_error = worst(std::max(world.clock().error_bound(begin), world.clock().error_bound()));
            if (p.me == 0) print(o, s, p, clock_error, all);
            for (std::size_t a = 0; p.me == 0 && a < all.size(); ++a)
                if (!(all[a].error <= error_bound)) {
                    fmt::print(stderr, "fft: {}: the transform is wrong: its relative error is {:.1e}\n", o.gathers[a],
                               all[a].error);
                    wrong = 1;
                }
        } catch (const std::exception& e) {
            fmt::print(stderr, "fft: rank {}: {}\n", p.me, e.what());
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    } catch (const std::exception& e) {
        if (p.me == 0) fmt::print(stderr, "fft: {}\n", e.what());
        return 2;
    }
    MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return wrong;
}

void add_options(CLI::App& app, options& o) {
    app.add_option("gather", o.gathers,
                   "the gathers to compare: ids of Rubato, with +early if it may start before its rank arrives, or "
                   "'native' (default: the gathers of Table 5)")
        ->type_name("ID");
    app.add_option("--scatter", o.scatter, "an id of Rubato, or native (default: native)")->type_name("ID");
    app.add_option("--size", o.size, "floats in the signal, two per complex number (default: 256Ki)")->type_name("N");
    app.add_option("--iterations", o.iterations, "of each algorithm (default: 1000)")->type_name("N");
    app.add_option("--block", o.block, "iterations before the next algorithm's turn (default: 10)")->type_name("N");
    app.add_option("--arrivals", o.arrivals, "how much longer ranks compute (default: balanced)")->type_name("PATTERN");
    app.add_option("--pattern", o.arrivals)->group("");  // what it was called once
    app.add_option("--threads", o.threads, "of a rank (default: the host's cores shared out among its ranks)")
        ->type_name("N");
    app.add_option("--seed", o.seed, "of the signal (default: 1)")->type_name("N");
    app.add_flag("--json", o.json, "one JSON object");
    app.footer(
        "Rank 0 cuts a signal into independent ones by decimation in frequency and scatters them, every rank "
        "transforms\n"
        "its own with FFTW, rank 0 gathers. --size is a multiple of four times the ranks.\n"
        "Prints, as Table 5 of Proficz 2020, the total time at rank 0, and as means over the iterations the gather's "
        "run\n"
        "time (last exit minus first arrival), the time ranks spend in it, and its tail (last exit minus last "
        "arrival).\n"
        "The first and the last transform of each algorithm are checked; exit status 1 if one is wrong.\n\n"
        "Examples:\n"
        "  mpirun -n 8 fft\n"
        "  mpirun -n 4 fft native gather/sorted_linear_sync+early --iterations 200 --arrivals uniform:max=2ms,seed=1\n"
        "  mpirun -n 6 fft --size 96Ki --scatter scatter/binomial --iterations 100 --json");
}

}  // namespace

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    const place p = find_place();
    options o;
    CLI::App app("A parallel FFT whose scatter and gather are Rubato's or the MPI library's. Start it with mpirun.");
    app.name("fft");
    add_options(app, o);
    int status = 0;
    try {
        app.parse(argc, argv);
        status = run(o, p);
    } catch (const CLI::ParseError& e) {
        if (p.me == 0) app.exit(e);
        status = e.get_exit_code() == 0 ? 0 : 2;
    }
    MPI_Finalize();
    return status;
}
