#include "schedules/schedule/shapes.hpp"

#include "rubato/algorithm.hpp"

#include <gtest/gtest.h>

namespace rubato::schedules {
namespace {

shape_table made_by(std::string_view id, std::int32_t ranks) {
    problem p;
    const algorithm& a = find_algorithm(id);
    p.what = a.what;
    p.ranks = ranks;
    const layout sizes = layout::uniform(100);
    return shapes_of(build_all(a, p), std::span(&sizes, 1));
}

TEST(shapes, ranks_that_do_the_same_share_one) {
    EXPECT_EQ(made_by("barrier/dissemination", 37).all().size(), 1U);
    EXPECT_EQ(made_by("allgather/ring", 12).all().size(), 1U);
    EXPECT_EQ(made_by("bcast/binomial", 64).all().size(), 7U) << "the root, and one for each height";
}

TEST(shapes, a_rank_finds_the_other_side_of_its_messages) {
    for (const char* id : {"allreduce/rabenseifner", "bcast/binomial", "alltoall/pairwise", "reduce/two_tree"}) {
        constexpr std::uint32_t ranks = 13;
        shape_table shapes = made_by(id, ranks);
        for (std::uint32_t r = 0; r < ranks; ++r) {
            const shape& mine = shapes.of(r);
            EXPECT_EQ(shapes.first()[r + 1] - shapes.first()[r], mine.size());
            for (std::uint32_t s = 0; s < mine.size(); ++s) {
                const shape_step& t = mine.steps[s];
                if (t.kind != step_kind::send) continue;
                const shape& other = shapes.of((r + t.distance) % ranks);
                const std::uint32_t back = (ranks - t.distance) % ranks;
                const std::uint32_t recv = shape::find(other.recvs, back, t.message);
                ASSERT_NE(recv, shape::none) << id;
                EXPECT_EQ(other.steps[recv].bytes, t.bytes) << id;
                EXPECT_EQ(shape::find(mine.sends, t.distance, t.message), s) << id;
                EXPECT_EQ(shapes.partner(mine, t, (r + t.distance) % ranks), recv) << id;
            }
        }
    }
}

TEST(shapes, tell_sizes_dependencies_and_peers_apart) {
    schedule s;
    s.steps.resize(2);
    s.steps[0] = {.kind = step_kind::send, .count = 1, .peer = 1};
    s.steps[1] = {.kind = step_kind::send, .count = 1, .peer = 1, .message = 1};
    s.first_dependency = {0, 0, 0};
    schedule waits = s;
    waits.first_dependency = {0, 0, 1};
    waits.dependencies = {0};
    schedule far = s;
    far.steps[1].peer = 2;
    schedule nobody = s;
    nobody.steps[1].peer = 7;
    shape_table shapes(5);
    shapes.add(s, layout::uniform(8));
    shapes.add(waits, layout::uniform(8));
    shapes.add(far, layout::uniform(8));
    shapes.add(nobody, layout::uniform(8));
    shapes.add(s, layout::uniform(9));
    EXPECT_EQ(shapes.all().size(), 5U);
    EXPECT_EQ(shapes.of(1).followers_of(0).size(), 1U);
    EXPECT_TRUE(shapes.of(1).followers_of(1).empty());
    EXPECT_EQ(shapes.of(1).steps[1].waits_for, 1U);
    EXPECT_EQ(shapes.of(3).steps[1].distance, shape::none);
}

}  // namespace
}  // namespace rubato::schedules
