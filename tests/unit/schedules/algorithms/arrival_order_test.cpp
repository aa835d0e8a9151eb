// Scatter and gather that sort ranks by arrival, for every order in which ranks can arrive.
#include "rubato/algorithm.hpp"
#include "rubato/verify.hpp"
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace rubato::schedules {
namespace {

bool sorts(const algorithm& a) { return a.arrival_aware && !a.uses_round_time(); }

void expect_right(const algorithm& a, const problem& p) {
    const auto findings = verify(p, build_all(a, p));
    std::string arrivals;
    for (const time_ns t : p.arrivals) arrivals += std::to_string(t.count()) + ' ';
    ASSERT_TRUE(findings.empty()) << a.id << ", root " << p.root.value << ", arrivals " << arrivals << ": "
                                  << findings.front();
}

TEST(arrival_aware_algorithms, are_right_in_every_order_of_a_few_ranks) {
    int rows = 0;
    for (const algorithm& a : algorithms()) {
        if (!a.arrival_aware || a.dynamic) continue;
        ++rows;
        if (traits(a.what).irregular) continue;  // the same schedules
        for (std::int32_t ranks = 1; ranks <= 6; ++ranks) {
            for (const std::int32_t root : ranks < 6 ? roots(a, ranks) : std::vector{2}) {
                problem p = problem_for(a, ranks, root);
                // One comes long after the others.
                for (std::int32_t r = 0; r < ranks; ++r) p.arrivals.emplace_back(r + 1 < ranks ? r : 100);
                p.round_time = time_ns(1);
                do {
                    for (const std::uint32_t segments : {1U, 2U}) {
                        if (segments > 1 && !(a.segmented && a.uses_round_time())) break;
                        p.segments = segments;
                        expect_right(a, p);
                        if (HasFatalFailure()) return;
                    }
                } while (std::ranges::next_permutation(p.arrivals).found);
            }
        }
    }
    EXPECT_EQ(rows, 53);
}

TEST(sorted_algorithms, are_right_in_some_orders_of_many_ranks) {
    std::mt19937 random(7);
    for (const algorithm& a : algorithms()) {
        if (!sorts(a)) continue;
        for (std::int32_t ranks = 7; ranks <= 33; ++ranks) {
            problem p = problem_for(a, ranks, static_cast<std::int32_t>(random()) & 3);
            for (std::int32_t r = 0; r < ranks; ++r) p.arrivals.emplace_back(random() % 20);  // some together
            expect_right(a, p);
            if (HasFatalFailure()) return;
        }
    }
}

TEST(sorted_algorithms, work_in_place) {
    std::mt19937 random(3);
    for (const algorithm& a : algorithms()) {
        if (!sorts(a) || traits(a.what).on_graph) continue;
        const bool gathers = traits(a.what).wide_output;
        for (std::int32_t ranks = 1; ranks <= 20; ++ranks) {
            const std::int32_t root = ranks / 3;
            problem p = problem_for(a, ranks, root);
            for (std::int32_t r = 0; r < ranks; ++r) p.arrivals.emplace_back(random() % 20);
            const schedule s = build_one(a, p, rank(root));
            const std::int64_t own = std::int64_t{root} * s.parts;
            EXPECT_TRUE(safe_in_place(s, gathers ? own : -own)) << a.id << ", " << ranks << " ranks";
        }
    }
}

std::vector<std::int32_t> peers(const schedule& s, step_kind kind) {
    std::vector<std::int32_t> all;
    for (const step& t : s.steps)
        if (t.kind == kind) all.push_back(t.peer);
    return all;
}

problem with_arrivals(const algorithm& a, std::int32_t root, const std::vector<std::int64_t>& arrivals) {
    problem p = problem_for(a, static_cast<std::int32_t>(arrivals.size()), root);
    for (const std::int64_t t : arrivals) p.arrivals.emplace_back(t);
    return p;
}

TEST(sorted_linear, serves_the_earliest_first) {
    const std::vector<std::int64_t> arrivals{30, 10, 99, 0, 10};
    const std::vector<std::int32_t> order{3, 1, 4, 0};
    for (const std::string_view id : {"scatter/sorted_linear", "scatterv/sorted_linear", "gather/sorted_linear_sync",
                                      "gatherv/sorted_linear_sync"}) {
        const algorithm& a = find_algorithm(id);
        EXPECT_EQ(peers(build_one(a, with_arrivals(a, 2, arrivals), rank(2)), step_kind::send), order) << id;
        EXPECT_EQ(peers(build_one(a, problem_for(a, 5, 2), rank(2)), step_kind::send),
                  (std::vector<std::int32_t>{0, 1, 3, 4}))
            << id;
    }
}

/// Of 8 ranks, 4 are leaves of a scatter: the latest. Of a gather, they are the earliest, and the latest hands over
/// last to the root.
TEST(sorted_binomial, has_the_latest_at_the_edge_of_a_scatter_and_next_to_the_root_of_a_gather) {
    const std::vector<std::int64_t> arrivals{5, 70, 10, 60, 20, 50, 30, 40};
    const algorithm& scatter = find_algorithm("scatter/sorted_binomial");
    const algorithm& gather = find_algorithm("gather/sorted_binomial");
    for (const std::int32_t r : {1, 3, 5, 7})
        EXPECT_TRUE(peers(build_one(scatter, with_arrivals(scatter, 0, arrivals), rank(r)), step_kind::send).empty());
    EXPECT_EQ(peers(build_one(scatter, with_arrivals(scatter, 0, arrivals), rank(0)), step_kind::send),
              (std::vector<std::int32_t>{2, 4, 7}));
    for (const std::int32_t r : {2, 4, 6, 7})
        EXPECT_TRUE(peers(build_one(gather, with_arrivals(gather, 0, arrivals), rank(r)), step_kind::recv).empty());
    EXPECT_EQ(peers(build_one(gather, with_arrivals(gather, 0, arrivals), rank(0)), step_kind::recv).back(), 1);
}

TEST(sorted_binomial, packs_nothing_that_lies_in_line) {
    // Earliest first: 1, 3, 2. Rank 1 takes the chunks of 1 and 2, rank 3 its own.
    const algorithm& a = find_algorithm("scatter/sorted_binomial");
    const schedule root = build_one(a, with_arrivals(a, 0, {0, 1, 3, 2}), rank(0));
    EXPECT_TRUE(root.scratch.empty()) << to_string(root);
}

}  // namespace
}  // namespace rubato::schedules
