#include "simulator/simulate/bound.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rubato::simulator {
namespace {

constexpr link speed{time_ns(10), 1};
constexpr std::int64_t block = 1000;

time_ns end(collective what, std::vector<int> arrivals, std::int64_t bytes, int root = 0) {
    const std::vector<time_ns> times(arrivals.begin(), arrivals.end());
    return earliest_end(what, times, rank(root), bytes, speed);
}

TEST(bound, all_blocks_pass_the_roots_link) {
    for (const collective what : {collective::scatter, collective::gather}) {
        EXPECT_EQ(end(what, {0, 0, 0, 0}, 4 * block), time_ns(3010));
        EXPECT_EQ(end(what, {7, 7, 7, 7}, 4 * block), time_ns(3017));
        EXPECT_EQ(end(what, {5}, block), time_ns(5));
    }
}

TEST(bound, a_scatters_blocks_can_wait_for_late_ranks_but_not_for_the_root) {
    EXPECT_EQ(end(collective::scatter, {5000, 0, 0, 0}, 4 * block), time_ns(8010));
    EXPECT_EQ(end(collective::scatter, {0, 0, 0, 5000}, 4 * block, 3), time_ns(8010));
    EXPECT_EQ(end(collective::scatter, {0, 5000, 0, 0}, 4 * block), time_ns(5000));
    EXPECT_EQ(end(collective::scatter, {0, 1500, 0, 0}, 4 * block), time_ns(3010));
}

TEST(bound, a_gather_serves_ranks_as_they_come) {
    EXPECT_EQ(end(collective::gather, {0, 4000, 500, 700}, 4 * block), time_ns(5010));
    EXPECT_EQ(end(collective::gather, {0, 2300, 500, 700}, 4 * block), time_ns(3510));
    EXPECT_EQ(end(collective::gather, {5000, 0, 0, 0}, 4 * block), time_ns(5000));
}

// 16 ranks, 4 steps: the best number of pieces is sqrt(3 * 1000 / 10) = 17.3, and 20 rounds of 10 + 1000/17 = 68.8.
TEST(bound, a_balanced_reduction_is_a_pipeline_of_the_best_number_of_pieces) {
    const std::vector<int> together(16, 0);
    const time_ns t = end(collective::reduce, together, 1000);
    EXPECT_EQ(t, time_ns(1376));
    EXPECT_EQ(end(collective::bcast, together, 1000), t);
    EXPECT_EQ(end(collective::reduce, {0, 0}, 1000), time_ns(1010));
    EXPECT_EQ(end(collective::reduce, {3}, 1000), time_ns(3));
}

TEST(bound, a_late_ranks_vector_passes_one_link) {
    EXPECT_EQ(end(collective::reduce, {0, 0, 0, 5000}, 1000), time_ns(6010));
    EXPECT_EQ(end(collective::reduce, {0, 0, 0, 5000}, 1000, 3), time_ns(5000));  // the root: all is there
    EXPECT_EQ(end(collective::bcast, {0, 0, 0, 5000}, 1000), time_ns(5000));
    EXPECT_GT(end(collective::bcast, {0, 0, 0, 5000}, 1000, 3), time_ns(6010));
    // Two that come together have to be added before; if one comes a vector earlier, not.
    EXPECT_GT(end(collective::reduce, {0, 0, 5000, 5000}, 1000), time_ns(6010));
    EXPECT_EQ(end(collective::reduce, {0, 0, 3000, 5000}, 1000), time_ns(6010));
}

TEST(bound, an_allreduce_receives_every_element_twice_unless_most_are_there) {
    EXPECT_EQ(end(collective::allreduce, {0, 0}, 100000), time_ns(100010));
    EXPECT_EQ(end(collective::allreduce, std::vector<int>(10, 0), 1000000), time_ns(1800000));
    // The others' sum can wait at one of two late ranks: one receive and n - 1.
    EXPECT_LT(end(collective::allreduce, {0, 0, 5000000, 5000000}, 1000000), time_ns(6100000));
    const time_ns one_late = end(collective::allreduce, {0, 0, 0, 0, 0, 0, 0, 0, 0, 5000000}, 1000000);
    EXPECT_GT(one_late, time_ns(6000000));
    EXPECT_LT(one_late, time_ns(6100000));
}

TEST(bound, others) {
    EXPECT_EQ(end(collective::allgather, {0, 0, 0, 0}, 4 * block), time_ns(3010));
    EXPECT_EQ(end(collective::allgather, {0, 0, 0, 9000}, 4 * block), time_ns(10010));
    EXPECT_EQ(end(collective::alltoall, {0, 0, 0, 9000}, 4 * block), time_ns(12010));
    EXPECT_EQ(end(collective::reduce_scatter_block, {0, 0, 0, 9000}, 4 * block), time_ns(12010));
    EXPECT_EQ(end(collective::scan, {0, 0, 0, 9000}, block), time_ns(9000));
    EXPECT_EQ(end(collective::scan, {0, 0, 9000, 0}, block), time_ns(10010));
    EXPECT_EQ(end(collective::barrier, {0, 0, 9000, 0}, 0), time_ns(9020));
    EXPECT_EQ(end(collective::barrier, {1}, 0), time_ns(1));
    EXPECT_EQ(end(collective::reduce, {0, 0, 9, 0}, 0), time_ns(9));
}

TEST(bound, a_rank_of_a_rooted_collective_leaves_when_its_own_part_is_done) {
    const auto exits = [](collective what, std::vector<time_ns> arrivals, std::int64_t bytes) {
        return earliest_exits(what, arrivals, rank(1), bytes, speed);
    };
    using times = std::vector<time_ns>;
    const times late{time_ns(0), time_ns(100), time_ns(5000), time_ns(0)};
    EXPECT_EQ(exits(collective::reduce, late, block),
              (times{time_ns(1000), time_ns(6010), time_ns(6000), time_ns(1000)}));
    EXPECT_EQ(exits(collective::gather, late, 4 * block),
              (times{time_ns(1000), time_ns(6010), time_ns(6000), time_ns(1000)}));
    EXPECT_EQ(exits(collective::bcast, late, block),
              (times{time_ns(1110), time_ns(1100), time_ns(5000), time_ns(1110)}));
    EXPECT_EQ(exits(collective::scatter, late, 4 * block),
              (times{time_ns(1110), time_ns(3100), time_ns(5000), time_ns(1110)}));
    EXPECT_EQ(exits(collective::allreduce, late, block),
              times(4, end(collective::allreduce, {0, 100, 5000, 0}, block)));
    EXPECT_EQ(exits(collective::neighbor_alltoall, late, block), late);
}

}  // namespace
}  // namespace rubato::simulator
