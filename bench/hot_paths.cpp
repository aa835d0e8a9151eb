// The basic operations, without MPI: making a schedule, running a step, simulating a step, verifying, recording an
// arrival.
// Items per second are steps per second.
#include "dropin/observe/recorder.hpp"
#include "engine/execute/engine.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/simulate.hpp"
#include "rubato/verify.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <filesystem>

#include <unistd.h>

namespace {

using namespace rubato;

problem chain_problem(std::int32_t ranks, std::uint32_t segments) {
    problem p;
    p.what = collective::reduce;
    p.ranks = ranks;
    p.segments = segments;
    return p;
}

std::int64_t steps_of(std::span<const schedule> all) {
    std::int64_t steps = 0;
    for (const schedule& s : all) steps += static_cast<std::int64_t>(s.steps.size());
    return steps;
}

/// One inner rank of a pipeline: what a new plan costs.
void generate(benchmark::State& state) {
    const algorithm& a = find_algorithm("reduce/chain");
    const problem p = chain_problem(1024, 64);
    std::int64_t steps = 0;
    for ([[maybe_unused]] auto _ : state) steps += static_cast<std::int64_t>(build_one(a, p, rank(500)).steps.size());
    state.SetItemsProcessed(steps);
}
BENCHMARK(generate);

/// Messages that arrive at once: what remains is the engine's own work.
class instant final : public engine::transport {
public:
    void send(std::uint32_t s, const std::byte*, std::int64_t, rank, std::uint32_t) override { done_.push_back(s); }
    void recv(std::uint32_t s, std::byte*, std::int64_t, rank, std::uint32_t) override { done_.push_back(s); }
    void poll(std::vector<std::uint32_t>& completed, bool) override { completed.swap(done_); }
    void combine(const std::byte*, std::byte*, std::int64_t) override {}
    void copy(const std::byte*, std::byte*, std::int64_t) override {}

private:
    std::vector<std::uint32_t> done_{};
};

void execute(benchmark::State& state) {
    const auto segments = static_cast<std::uint32_t>(state.range(0));
    const engine::plan p(build_one(find_algorithm("reduce/chain"), chain_problem(8, segments), rank(3)));
    const layout l = layout::uniform(1 << 20);
    instant t;
    engine::execution e;
    for ([[maybe_unused]] auto _ : state) {
        e.start(p, l, {}, t);
        e.wait();
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(p.steps().steps.size()));
}
BENCHMARK(execute)->Arg(1)->Arg(64);

void simulate_model(benchmark::State& state, const char* model_text, const char* pattern) {
    const std::int32_t ranks = 1024;
    const auto all = build_all(find_algorithm("reduce/chain"), chain_problem(ranks, 64));
    const model m = parse_model(model_text);
    const layout l = layout::uniform(4 << 20);
    std::vector<time_ns> arrivals(ranks);
    if (*pattern != 0)
        for (std::int32_t r = 0; r < ranks; ++r) arrivals[static_cast<std::size_t>(r)] = time_ns(r * 7919 % 100003);
    for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(simulate(m, all, {&l, 1}, arrivals));
    state.SetItemsProcessed(state.iterations() * steps_of(all));
}
BENCHMARK_CAPTURE(simulate_model, hockney, "curie", "");
BENCHMARK_CAPTURE(simulate_model, loggp, "loggp:L=2us,o=1us,g=1us,G=0.5ns", "");
BENCHMARK_CAPTURE(simulate_model, loggp_random, "loggp:L=2us,o=1us,g=1us,G=0.5ns", "random");

void prove(benchmark::State& state) {
    const problem p = chain_problem(33, 8);
    const auto all = build_all(find_algorithm("reduce/two_tree"), p);
    for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(verify(p, all));
    state.SetItemsProcessed(state.iterations() * steps_of(all));
}
BENCHMARK(prove);

/// The record of the drop-in, into a file: sums, and a time if it is kept. Operations take turns.
void record_to_file(benchmark::State& state) {
    const auto operations = static_cast<std::int32_t>(state.range(0));
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / ("rubato-hot-paths-" + std::to_string(getpid()));
    dropin::recorder r(file, {});
    dropin::recorder::channel& c = r.open(std::array<std::int32_t, 1>{0});
    std::int64_t t = 0;
    std::int32_t turn = 0;
    for ([[maybe_unused]] auto _ : state) {
        c.record({collective::reduce, dropin::form::blocking, turn, 8, &r, time_ns(t), time_ns(t + 1)});
        t += 2;
        if (++turn == operations) turn = 0;
    }
    r.finish();
}
BENCHMARK(record_to_file)->Arg(1)->Arg(4)->Arg(256);

}  // namespace

BENCHMARK_MAIN();
