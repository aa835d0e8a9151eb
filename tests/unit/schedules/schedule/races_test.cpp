#include "rubato/algorithm.hpp"
#include "rubato/builder.hpp"
#include "support/problems.hpp"
#include "support/timings.hpp"

#include <gtest/gtest.h>

#include <random>

namespace rubato::schedules {
namespace {

step message(step_kind kind, buffer where, block first, std::uint32_t count = 1) {
    step s;
    s.kind = kind;
    s.from = s.to = where;
    s.source = s.target = s.shape = first;
    s.count = count;
    s.peer = 1;
    return s;
}

step local(step_kind kind, buffer from, block source, buffer to, block target) {
    return {kind, from, to, source, target, 0, 1, -1, 0};
}

struct listed {
    step what;
    std::vector<std::uint32_t> after{};
};

schedule make(const std::vector<listed>& steps) {
    schedule s;
    s.parts = 8;
    s.scratch.resize(8);
    for (const listed& l : steps) {
        s.steps.push_back(l.what);
        s.dependencies.insert(s.dependencies.end(), l.after.begin(), l.after.end());
        s.first_dependency.push_back(static_cast<std::uint32_t>(s.dependencies.size()));
    }
    return s;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> races(const schedule& s) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
    for (const race& r : find_races(s)) found.emplace_back(r.earlier, r.later);
    return found;
}

using pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
using enum step_kind;
using enum buffer;

TEST(races, two_readers_do_not_race) {
    EXPECT_EQ(races(make({{message(send, input, 0)}, {message(send, input, 0)}})), pairs{});
}

TEST(races, a_reader_and_a_writer_race) {
    EXPECT_EQ(races(make({{message(recv, scratch, 0)}, {message(send, scratch, 0)}})), (pairs{{0, 1}}));
    EXPECT_EQ(races(make({{message(send, output, 0)}, {message(recv, output, 0)}})), (pairs{{0, 1}}));
    EXPECT_EQ(races(make({{message(recv, scratch, 0)}, {message(send, scratch, 0), {0}}})), pairs{});
}

TEST(races, two_writers_race) {
    EXPECT_EQ(races(make({{message(recv, output, 3)}, {message(recv, output, 3)}})), (pairs{{0, 1}}));
}

TEST(races, a_combination_reads_and_writes) {
    const listed first{message(recv, scratch, 0)};
    EXPECT_EQ(races(make({first, {local(combine, input, 0, scratch, 0)}})), (pairs{{0, 1}}));
    EXPECT_EQ(races(make({first, {local(combine, scratch, 0, scratch, 1)}})), (pairs{{0, 1}}));
    EXPECT_EQ(races(make({first, {local(combine, scratch, 0, scratch, 1), {0}}})), pairs{});
}

TEST(races, overlapping_blocks_race_and_neighbours_do_not) {
    EXPECT_EQ(races(make({{message(recv, output, 0, 3)}, {message(recv, output, 3, 2)}})), pairs{});
    EXPECT_EQ(races(make({{message(recv, output, 0, 4)}, {message(recv, output, 3, 2)}})), (pairs{{0, 1}}));
}

TEST(races, buffers_are_told_apart) {
    EXPECT_EQ(races(make({{message(recv, output, 0)}, {message(recv, scratch, 0)}, {message(send, input, 0)}})),
              pairs{});
}

TEST(races, a_path_of_dependencies_is_an_order) {
    EXPECT_EQ(
        races(make({{message(recv, output, 0)}, {message(send, input, 0), {0}}, {message(send, output, 0), {1}}})),
        pairs{});
    EXPECT_EQ(races(make({{message(recv, output, 0)}, {message(send, input, 0)}, {message(send, output, 0), {1}}})),
              (pairs{{0, 2}}));
}

TEST(races, empty_messages_touch_nothing) {
    EXPECT_EQ(races(make({{message(recv, output, 0, 0)}, {message(send, output, 0, 0)}})), pairs{});
}

/// All pairs, by definition, against the walk that looks only at neighbouring accesses.
TEST(races, none_is_missed_in_random_schedules) {
    std::mt19937 random(3);
    int racy = 0;
    for (int round = 0; round < 3000; ++round) {
        std::vector<listed> steps(random() % 7 + 2);
        std::vector<std::vector<bool>> before(steps.size(), std::vector<bool>(steps.size()));
        for (std::uint32_t i = 0; i < steps.size(); ++i) {
            const auto kind = static_cast<step_kind>(random() % 4);
            const auto from = static_cast<buffer>(random() % 3);
            const block source = random() % 2;
            const auto to = static_cast<buffer>(1 + random() % 2);
            const block target = random() % 2;
            steps[i].what = local(kind, from, source, to, target);
            steps[i].what.count = random() % 2 + 1;
            for (std::uint32_t d = 0; d < i; ++d) {
                if (random() % 3 != 0) continue;
                steps[i].after.push_back(d);
                before[i][d] = true;
                for (std::uint32_t e = 0; e < d; ++e)
                    if (before[d][e]) before[i][e] = true;
            }
        }
        const auto touches = [&](std::size_t i, buffer b, block at, bool write) {
            const step& t = steps[i].what;
            if (t.kind == copy && t.from == t.to && t.source == t.target) return false;  // does nothing
            const bool writes = t.writes() && t.to == b && at >= t.target && at < t.target + t.count;
            const bool reads = t.reads() && t.from == b && at >= t.source && at < t.source + t.count;
            return writes || (!write && reads);
        };
        bool expected = false;
        for (std::size_t i = 0; i < steps.size(); ++i)
            for (std::size_t k = 0; k < i; ++k)
                for (const buffer b : {input, output, scratch})
                    for (block at = 0; at < 4; ++at)
                        expected |= !before[i][k] && ((touches(i, b, at, true) && touches(k, b, at, false)) ||
                                                      (touches(i, b, at, false) && touches(k, b, at, true)));
        const schedule s = make(steps);
        ASSERT_EQ(!races(s).empty(), expected) << to_string(s);
        racy += expected;
    }
    EXPECT_GT(racy, 500);
    EXPECT_LT(racy, 2900);
}

TEST(races, built_schedules_have_none) {
    for (const algorithm& a : algorithms()) {
        problem p;
        p.what = a.what;
        p.ranks = 8;
        add_neighbours(p);
        for (const testing::timing& when : testing::timings(a, p.ranks, 0)) {
            p.arrivals = when.arrivals;
            p.round_time = when.round_time;
            p.hosts = when.hosts;
            if (unmet_need(a, p)) continue;
            for (const std::uint32_t segments : {1U, 3U}) {
                p.segments = segments;
                for (const schedule& s : build_all(a, p)) EXPECT_EQ(races(s), pairs{}) << a.id << ' ' << when.pattern;
            }
        }
    }
}

TEST(in_place, input_must_not_be_read_after_its_place_was_written) {
    EXPECT_TRUE(safe_in_place(make({{message(send, input, 0)}, {message(recv, output, 0), {0}}}), 0));
    EXPECT_FALSE(safe_in_place(make({{message(send, input, 0)}, {message(recv, output, 0)}}), 0)) << "no order";
    EXPECT_FALSE(safe_in_place(make({{message(recv, output, 0)}, {message(send, input, 0), {0}}}), 0)) << "too late";
}

TEST(in_place, only_places_that_coincide_matter) {
    const schedule s = make({{message(recv, output, 5)}, {message(send, input, 2)}});
    EXPECT_TRUE(safe_in_place(s, 0));
    EXPECT_TRUE(safe_in_place(s, 2));
    EXPECT_FALSE(safe_in_place(s, 3));
    const schedule scatter = make({{message(recv, output, 0)}, {message(send, input, 4)}});
    EXPECT_TRUE(safe_in_place(scatter, -3));
    EXPECT_FALSE(safe_in_place(scatter, -4));
}

TEST(in_place, a_copy_onto_its_own_place_does_nothing) {
    EXPECT_TRUE(safe_in_place(make({{local(copy, input, 0, output, 0)}, {message(send, input, 0)}}), 0));
    EXPECT_FALSE(safe_in_place(make({{local(copy, input, 0, output, 1)}, {message(send, input, 1), {0}}}), 0));
}

TEST(in_place, a_copy_that_does_nothing_is_wrong_if_the_input_is_gone) {
    const std::vector<listed> late{{message(recv, output, 0)}, {local(copy, input, 0, output, 0), {0}}};
    EXPECT_FALSE(safe_in_place(make(late), 0));
    EXPECT_TRUE(safe_in_place(make(late), 1));
}

TEST(in_place, a_step_must_not_overwrite_what_it_reads) {
    step moved = local(copy, input, 0, output, 1);
    EXPECT_TRUE(safe_in_place(make({{moved}}), 0));
    moved.count = 2;
    EXPECT_FALSE(safe_in_place(make({{moved}}), 0));
    EXPECT_TRUE(safe_in_place(make({{moved}}), 1)) << "onto itself";
    EXPECT_FALSE(safe_in_place(make({{moved}}), 2));
    EXPECT_TRUE(safe_in_place(make({{moved}}), 3));
}

TEST(in_place, combining_the_input_into_its_own_place_is_wrong) {
    EXPECT_FALSE(safe_in_place(make({{message(recv, output, 0)}, {local(combine, input, 0, output, 0), {0}}}), 0));
}

TEST(in_place, accumulating_in_scratch_is_safe) {
    EXPECT_TRUE(safe_in_place(make({{message(recv, scratch, 0)},
                                    {local(combine, input, 0, scratch, 0), {0}},
                                    {local(copy, scratch, 0, output, 0), {1}}}),
                              0));
}

}  // namespace
}  // namespace rubato::schedules
