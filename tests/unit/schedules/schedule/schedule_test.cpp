#include "rubato/schedule.hpp"

#include "rubato/algorithm.hpp"
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace rubato::schedules {
namespace {

/// Schedules of every registered algorithm, small, with all that a schedule can have.
std::vector<schedule> samples() {
    std::vector<schedule> all;
    for (const algorithm& a : algorithms()) {
        for (const std::int32_t ranks : {1, 4, 7}) {
            problem p;
            p.what = a.what;
            p.ranks = ranks;
            p.segments = 3;
            add_neighbours(p);
            p.root = rank(traits(a.what).rooted ? ranks - 1 : 0);
            if (unmet_need(a, p)) continue;
            for (schedule& s : build_all(a, p)) all.push_back(std::move(s));
        }
    }
    return all;
}

TEST(schedule, equal_schedules_hash_alike_and_others_do_not) {
    std::set<std::size_t> hashes;
    std::vector<schedule> distinct;
    for (const schedule& s : samples()) {
        EXPECT_EQ(hash(s), hash(schedule(s)));
        if (std::ranges::find(distinct, s) != distinct.end()) continue;
        distinct.push_back(s);
        EXPECT_TRUE(hashes.insert(hash(s)).second);
    }
    ASSERT_GT(distinct.size(), 5U);
}

TEST(schedule, every_field_counts_in_equality_and_hash) {
    schedule s;
    s.scratch = {0};
    s.steps = {{step_kind::send, buffer::input, buffer::output, 1, 2, 3, 4, 5, 6}, {}};
    s.first_dependency = {0, 0, 1};
    s.dependencies = {0};
    std::vector<schedule> others(12, s);
    others[0].parts = 2;
    others[1].scratch[0] = 1;
    others[2].steps[0].kind = step_kind::recv;
    others[3].steps[0].from = buffer::scratch;
    others[4].steps[0].to = buffer::scratch;
    others[5].steps[0].source = 9;
    others[6].steps[0].target = 9;
    others[7].steps[0].shape = 9;
    others[8].steps[0].count = 9;
    others[9].steps[0].peer = 9;
    others[10].steps[0].message = 9;
    others[11].first_dependency = {0, 1, 1};
    for (const schedule& o : others) {
        EXPECT_NE(o, s);
        EXPECT_NE(hash(o), hash(s));
    }
}

TEST(schedule, steps_read_as_sentences) {
    step s;
    s.kind = step_kind::send;
    s.from = buffer::output;
    s.source = 3;
    s.count = 3;
    s.peer = 7;
    s.message = 2;
    EXPECT_EQ(rubato::to_string(s), "send output[3..5] to 7 (message 2)");
    s.count = 0;
    EXPECT_EQ(rubato::to_string(s), "send nothing to 7 (message 2)");
    s = {step_kind::recv, buffer::input, buffer::scratch, 0, 4, 0, 1, 1, 0};
    EXPECT_EQ(rubato::to_string(s), "recv scratch[4] from 1 (message 0)");
    s = {step_kind::combine, buffer::input, buffer::output, 0, 4, 0, 2, -1, 0};
    EXPECT_EQ(rubato::to_string(s), "combine input[0..1] into output[4..5]");
    s.kind = step_kind::copy;
    EXPECT_EQ(rubato::to_string(s), "copy input[0..1] to output[4..5]");
}

TEST(schedule, lists_steps_with_what_they_wait_for) {
    problem p;
    p.what = collective::reduce;
    p.ranks = 4;
    EXPECT_EQ(rubato::to_string(build_one(find_algorithm("reduce/binomial"), p, rank(0))),
              "   0  recv scratch[0] from 1 (message 0)\n"
              "   1  combine input[0] into scratch[0]  after 0\n"
              "   2  recv output[0] from 2 (message 0)\n"
              "   3  combine scratch[0] into output[0]  after 1, 2\n");
}

}  // namespace
}  // namespace rubato::schedules
