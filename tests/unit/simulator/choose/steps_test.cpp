#include "simulator/choose/sample.hpp"

#include "rubato/arrival.hpp"
#include "support/extent.hpp"
#include "support/problems.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace rubato::simulator {
namespace {

using namespace std::chrono_literals;

template <class T>
double bytes_of(const std::vector<T>& v) {
    return static_cast<double>(v.capacity() * sizeof(T));
}

double bytes_of(const schedule& s) {
    return sizeof(s) + bytes_of(s.scratch) + bytes_of(s.steps) + bytes_of(s.first_dependency) +
           bytes_of(s.dependencies);
}

/// Whoever decides whether to make schedules at all needs the order of magnitude.
void expect_near(const algorithm& a, std::int32_t ranks, std::uint32_t segments) {
    problem p;
    p.what = a.what;
    p.ranks = ranks;
    p.segments = segments;
    p.idempotent = true;
    add_neighbours(p);
    p.arrivals = parse_arrivals("single:rank=0,delay=1ms", ranks);
    p.round_time = 10us;
    if (unmet_need(a, p)) return;
    double all = 0;
    double most = 0;
    double bytes = 0;
    for (const schedule& s : build_all(a, p)) {
        all += static_cast<double>(s.steps.size());
        most = std::max(most, static_cast<double>(s.steps.size()));
        bytes += bytes_of(s);
    }
    const step_counts told = expected_steps(a, p);
    const std::string where = fmt::format("{}, {} ranks, {} segments", a.id, ranks, segments);
    EXPECT_LE(told.most, 2 * most + 10) << where;
    EXPECT_GE(told.most, most / 10) << where;
    EXPECT_GE(told.all, all / 3) << where;
    EXPECT_GE(told.bytes, bytes / 3) << where;
    EXPECT_LE(told.bytes, 6 * bytes + 1000) << where;
    // Some sort or plan for each rank anew, which takes time, too.
    EXPECT_TRUE(a.arrival_aware || told.all <= 6 * all + 10) << where << ": " << told.all << " for " << all;
}

TEST(expected_steps, are_about_as_many_as_there_are) {
    for (const algorithm& a : algorithms()) {
        for (const std::int32_t ranks : {1, 2, 16, 96}) expect_near(a, ranks, 1);
        for (const std::int32_t ranks : {2, 8, 33})
            if (a.segmented) expect_near(a, ranks, 100);
        if (a.segmented) expect_near(a, 4, some_or_all(3'000U, 30'000U));
    }
    expect_near(find_algorithm("bcast/binomial"), 6'000, 1);
    expect_near(find_algorithm("reduce/local_redirect"), 1'000, 1);
}

/// Few steps, but blocks of scratch for a share of all ranks.
TEST(expected_steps, memory_grows_with_the_square_of_ranks_where_ranks_keep_a_block_of_each) {
    problem p;
    p.what = collective::allreduce;
    for (p.ranks = 1 << 14; p.ranks <= 1 << 20; p.ranks *= 8) {
        const double ranks = p.ranks;
        const step_counts told = expected_steps(find_algorithm("allreduce/rabenseifner"), p);
        EXPECT_LE(told.all, 100 * ranks) << p.ranks;
        EXPECT_GE(told.bytes, ranks * ranks * sizeof(block) / 8) << p.ranks;
        EXPECT_LE(told.bytes, ranks * ranks * sizeof(block)) << p.ranks;
    }
}

TEST(expected_steps, are_told_of_problems_that_no_machine_could_hold) {
    problem p;
    p.what = collective::allreduce;
    p.ranks = 1'000'000;
    // 2 (P - 1) rounds of a send and a receive, and a combination in half of them.
    EXPECT_NEAR(expected_steps(find_algorithm("allreduce/ring"), p).all, 5e12, 1.5e12);
    p.ranks = 4096;
    p.segments = 1'000'000;
    EXPECT_GT(expected_steps(find_algorithm("allreduce/segmented_ring"), p).all, 1e13);
}

}  // namespace
}  // namespace rubato::simulator
