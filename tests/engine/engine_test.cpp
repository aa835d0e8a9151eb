// The engine, one thread per rank, over wires that delay and reorder messages.
#include "engine/execute/engine.hpp"

#include "rubato/algorithm.hpp"
#include "support/in_memory.hpp"
#include "support/problems.hpp"
#include "support/reference.hpp"
#include "support/registry.hpp"
#include "support/timings.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace rubato {
namespace {

using testing::affine;

enum class start { together, staggered, early };

/// Runs all ranks of one collective, with these delays or random ones. Returns each rank's output.
std::vector<std::vector<affine>> run(const algorithm& a, const problem& p, std::int64_t units, start how,
                                     std::uint64_t seed, const std::vector<time_ns>& delays = {}) {
    testing::wires wires(sizeof(affine));
    std::vector<std::vector<affine>> outputs(static_cast<std::size_t>(p.ranks));
    std::vector<std::thread> threads;
    for (std::int32_t r = 0; r < p.ranks; ++r) {
        threads.emplace_back([&, r] {
            std::mt19937_64 random(seed + static_cast<std::uint64_t>(r));
            const engine::plan mine(build_one(a, p, rank(r)));
            const layout l = testing::layout_of(p, r, units);
            std::vector<affine> input(static_cast<std::size_t>(testing::units_in(l.input, p.input_chunks(rank(r)))));
            for (std::size_t u = 0; u < input.size(); ++u)
                input[u] = testing::element(r, static_cast<std::int64_t>(u), p.commutative);
            std::vector<affine>& output = outputs[static_cast<std::size_t>(r)];
            output.resize(static_cast<std::size_t>(testing::units_in(l.output, p.output_chunks(rank(r)))));
            std::vector<affine> scratch(static_cast<std::size_t>(l.scratch_units(mine.steps())));
            testing::in_memory wire(wires, rank(r), random(),
                                    [](const std::byte* left, std::byte* into, std::int64_t n) {
                                        const auto* x = reinterpret_cast<const affine*>(left);
                                        auto* y = reinterpret_cast<affine*>(into);
                                        for (std::int64_t i = 0; i < n; ++i) y[i] = testing::then(x[i], y[i]);
                                    });
            engine::memory m;
            m.input = reinterpret_cast<std::byte*>(input.data());
            m.output = reinterpret_cast<std::byte*>(output.data());
            m.scratch = reinterpret_cast<std::byte*>(scratch.data());
            m.input_stride = m.output_stride = m.scratch_stride = sizeof(affine);
            const time_ns delay =
                delays.empty() ? std::chrono::microseconds(random() % 200) : delays[static_cast<std::size_t>(r)];
            const auto arrival = std::chrono::steady_clock::now() + delay;
            engine::execution e;
            if (how == start::early) {
                engine::memory scratch_only = m;
                scratch_only.input = scratch_only.output = nullptr;
                e.start(mine, l, scratch_only, wire, false);
                while (std::chrono::steady_clock::now() < arrival) e.progress();
                e.arrive(m.input, m.output);
            } else {
                if (how == start::staggered) std::this_thread::sleep_until(arrival);
                e.start(mine, l, m, wire);
            }
            e.wait();
        });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wires.undelivered(), 0U);
    return outputs;
}

class engine : public ::testing::TestWithParam<std::string_view> {};

TEST_P(engine, gives_what_the_collective_promises) {
    const algorithm& a = find_algorithm(GetParam());
    std::uint64_t seed = 1;
    int runs = 0;
    for (const std::int32_t ranks : {1, 2, 3, 4, 5, 7, 8, 9}) {
        for (const std::uint32_t segments : {1U, 3U}) {
            for (const bool commutative : {false, true}) {
                problem p;
                p.what = a.what;
                p.ranks = ranks;
                p.segments = segments;
                p.commutative = commutative;
                add_neighbours(p);
                if (unmet_need(a, p) || (segments > 1 && !a.segmented)) continue;
                for (const std::int32_t root :
                     traits(a.what).rooted ? std::vector{0, ranks / 2, ranks - 1} : std::vector{0}) {
                    p.root = rank(root);
                    const auto timings = testing::timings(a, ranks, root);
                    for (const std::int64_t units : {0, 1, ranks + 1, 50}) {
                        const start how = static_cast<start>(seed % 3);
                        const testing::timing& when = timings[seed % timings.size()];
                        p.arrivals = when.arrivals;
                        p.round_time = when.round_time;
                        p.hosts = when.hosts;
                        const auto outputs = run(a, p, units, how, ++seed * 977);
                        ++runs;
                        for (std::int32_t r = 0; r < ranks; ++r) {
                            const auto want = testing::expected_output(p, r, units);
                            if (want.empty()) continue;
                            ASSERT_EQ(outputs[static_cast<std::size_t>(r)], want)
                                << a.id << " ranks " << ranks << " rank " << r << " root " << root << " units " << units
                                << " arrivals " << when.pattern;
                        }
                    }
                }
            }
        }
    }
    EXPECT_GT(runs, 0);
}

/// Ranks arrive as predicted, or in the reverse order: wrong predictions cost only time.
TEST(arrival_aware_engine, is_right_when_ranks_come_late_indeed) {
    using namespace std::chrono_literals;
    constexpr std::int32_t ranks = 6;
    constexpr std::int64_t units = 23;
    std::uint64_t seed = 5;
    for (const algorithm& a : algorithms()) {
        if (!a.arrival_aware) continue;
        for (const std::int32_t root : {0, 4}) {
            for (const std::string& pattern : patterns_to_try(ranks, rank(root))) {
                problem p;
                p.what = a.what;
                p.ranks = ranks;
                p.root = rank(root);
                p.segments = 5;
                add_neighbours(p);
                p.arrivals = parse_arrivals(pattern, ranks);
                p.round_time = 20us;
                std::vector<time_ns> reversed(p.arrivals.rbegin(), p.arrivals.rend());
                for (const auto& delays : {p.arrivals, reversed}) {
                    for (const start how : {start::staggered, start::early}) {
                        const auto outputs = run(a, p, units, how, ++seed, delays);
                        for (std::int32_t r = 0; r < ranks; ++r) {
                            const auto expected = testing::expected_output(p, r, units);
                            ASSERT_TRUE(expected.empty() || outputs[static_cast<std::size_t>(r)] == expected)
                                << a.id << " rank " << r << " root " << root << ' ' << pattern;
                        }
                    }
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(registry, engine, ::testing::ValuesIn(testing::ids_of([](const algorithm&) { return true; })),
                         testing::name_of_id);

}  // namespace
}  // namespace rubato
