// What docs/reproduction.md claims of Marendic et al. 2016, Figs 12 and 13, with the paper's parameters: 128 ranks, the
// last of them late.
#include "rubato/algorithm.hpp"
#include "rubato/arrival.hpp"
#include "rubato/simulate.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace rubato::schedules {
namespace {

constexpr std::int64_t KiB = 1024;
constexpr std::int32_t ranks = 128;
const model curie = parse_model("curie");

time_ns run(std::string_view id, std::int64_t bytes, std::uint32_t segments, time_ns delay) {
    const algorithm& a = find_algorithm(id);
    problem p;
    p.what = a.what;
    p.ranks = ranks;
    p.segments = segments;
    p.round_time = segment_time(curie, part_offset(bytes, segments, 1));
    if (a.takes_radix) p.radix = {4, 4, 8};
    p.arrivals.assign(ranks, {});
    p.arrivals.back() = delay;
    const layout l = layout::uniform(bytes);
    return run_time(p.arrivals, simulate(curie, build_all(a, p), std::span(&l, 1), p.arrivals).exits);
}

time_ns run_clairvoyant(std::int64_t bytes, time_ns delay) {
    return run("reduce/clairvoyant", bytes, optimal_segments(curie, ranks, bytes), delay);
}

TEST(reproduction, clairvoyant_is_fastest_at_every_delay) {
    for (const std::int64_t bytes : {128 * KiB, 512 * KiB, 2048 * KiB, 4096 * KiB, 40960 * KiB}) {
        const time_ns balanced = run_clairvoyant(bytes, {});
        for (const int eighths : {0, 1, 2, 4, 8, 16, 40}) {
            const time_ns delay = balanced * eighths / 8;
            const time_ns ours = run_clairvoyant(bytes, delay);
            for (const char* rival : {"reduce/binomial", "reduce/butterfly", "reduce/ring", "reduce/radix_k"})
                EXPECT_LT(ours, run(rival, bytes, 1, delay)) << rival << ", " << bytes << " bytes, " << eighths << "/8";
        }
    }
}

// Table 3 says that butterfly is faster from 32232 to 62812 bytes; the schedules are not.
TEST(reproduction, butterfly_is_never_faster) {
    for (std::int64_t bytes = 512; bytes < 100 * KiB; bytes += 512)
        EXPECT_LT(run_clairvoyant(bytes, {}), run("reduce/butterfly", bytes, 1, {})) << bytes;
}

// With two segments what is left after the last arrival is the best that Proposition 3.7 allows; with the number of
// segments for arrivals together it is more.
TEST(reproduction, a_very_late_rank_wants_few_segments) {
    const auto [alpha, beta, gamma] = linear_costs(curie);
    for (const std::int64_t bytes : {128 * KiB, 4096 * KiB}) {
        const time_ns delay = 20 * run_clairvoyant(bytes, {});
        const auto best = std::llround(2 * alpha + static_cast<double>(bytes) * (beta + gamma / 2));
        EXPECT_NEAR(static_cast<double>((run("reduce/clairvoyant", bytes, 2, delay) - delay).count()),
                    static_cast<double>(best), 3);
        EXPECT_GT((run_clairvoyant(bytes, delay) - delay).count(), best * 12 / 10);
    }
}

}  // namespace
}  // namespace rubato::schedules
