// What bench/arrivals compares its figures with.
#include "arrival_bounds.hpp"

#include <gtest/gtest.h>

#include <vector>

using namespace rubato;

namespace {

constexpr link_speed speed{time_ns(10), 1};
constexpr std::int64_t block_bytes = 1000;

time_ns end(collective what, std::vector<int> arrivals, before_arrival can) {
    const std::vector<time_ns> times(arrivals.begin(), arrivals.end());
    return earliest_end(what, times, 0, block_bytes, speed, can);
}

}  // namespace

TEST(arrival_bounds, all_blocks_pass_the_roots_link) {
    for (const collective what : {collective::scatter, collective::gather})
        for (const before_arrival can : {before_arrival::nothing, before_arrival::background}) {
            EXPECT_EQ(end(what, {0, 0, 0, 0}, can), time_ns(3010));
            EXPECT_EQ(end(what, {7, 7, 7, 7}, can), time_ns(3017));
            EXPECT_EQ(end(what, {5}, can), time_ns(5));
        }
}

TEST(arrival_bounds, a_scatter_waits_for_the_root_and_its_blocks_for_late_ranks) {
    using enum before_arrival;
    EXPECT_EQ(end(collective::scatter, {5000, 0, 0, 0}, background), time_ns(8010));
    EXPECT_EQ(end(collective::scatter, {0, 5000, 0, 0}, background), time_ns(5000));
    EXPECT_EQ(end(collective::scatter, {0, 5000, 0, 0}, nothing), time_ns(6010));
    EXPECT_EQ(end(collective::scatter, {0, 1500, 0, 0}, nothing), time_ns(3010));
    EXPECT_EQ(end(collective::scatter, {100, 1500, 2500, 2500}, nothing), time_ns(4510));
}

TEST(arrival_bounds, a_gather_serves_ranks_as_they_come) {
    using enum before_arrival;
    EXPECT_EQ(end(collective::gather, {0, 4000, 500, 700}, background), time_ns(5010));
    EXPECT_EQ(end(collective::gather, {0, 2300, 500, 700}, background), time_ns(3510));
    EXPECT_EQ(end(collective::gather, {5000, 0, 0, 0}, background), time_ns(5000));
    EXPECT_EQ(end(collective::gather, {5000, 0, 0, 0}, nothing), time_ns(8010));
    EXPECT_EQ(end(collective::gather, {2000, 0, 0, 4500}, background), time_ns(5510));
    EXPECT_EQ(end(collective::gather, {2000, 0, 0, 3500}, nothing), time_ns(5010));
}
