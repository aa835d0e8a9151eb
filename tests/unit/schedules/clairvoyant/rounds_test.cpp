#include "schedules/clairvoyant/clairvoyant.hpp"

#include "rubato/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rubato::schedules {
namespace {

problem reduction(std::int32_t ranks, std::uint32_t segments, std::vector<time_ns> arrivals = {}) {
    problem p;
    p.what = collective::reduce;
    p.ranks = ranks;
    p.segments = segments;
    p.arrivals = std::move(arrivals);
    p.round_time = time_ns(1000);
    return p;
}

std::vector<rank> everybody(const problem& p) {
    std::vector<rank> all;
    for (rank r; r.value < p.ranks; ++r.value) all.push_back(r);
    return all;
}

std::size_t steps(const schedule& s, step_kind kind) {
    return static_cast<std::size_t>(std::ranges::count(s.steps, kind, &step::kind));
}

TEST(schedules_of_rounds, need_not_come_from_a_generator) {
    const problem p = reduction(3, 1);
    const rounds chain{2, {{0, 1}, {1, 2}}, {{1, 2, 0}, {0, 1, 0}}};
    const auto all = schedules_of(p, chain, everybody(p));
    EXPECT_TRUE(verify(p, all).empty());
    EXPECT_EQ(rubato::to_string(all[1]),
              "   0  recv scratch[0] from 2 (message 0)\n"
              "   1  combine input[0] into scratch[0]  after 0\n"
              "   2  send scratch[0] to 0 (message 0)  after 1\n");
    EXPECT_EQ(rubato::to_string(all[0]),
              "   0  recv output[0] from 1 (message 0)\n"
              "   1  combine input[0] into output[0]  after 0\n");
}

TEST(schedules_of_rounds, what_the_root_sent_away_comes_back_without_its_own_share) {
    const problem p = reduction(2, 1);
    const auto all = schedules_of(p, {2, {{0, 1}, {1, 2}}, {{1, 0, 0}, {0, 1, 0}}}, everybody(p));
    EXPECT_TRUE(verify(p, all).empty());
    EXPECT_EQ(steps(all[0], step_kind::combine), 0U);
}

TEST(schedules_of_rounds, a_sink_that_is_not_the_root_holds_what_it_gets_back) {
    problem p = reduction(3, 1);
    p.root = rank(2);
    // 0 hands over to 1, gets it back, and hands it to the root.
    const auto all = schedules_of(p, {3, {{0, 1}, {1, 2}, {2, 3}}, {{1, 0, 0}, {0, 1, 0}, {2, 0, 0}}}, everybody(p));
    EXPECT_TRUE(verify(p, all).empty());
    EXPECT_EQ(steps(all[0], step_kind::combine), 0U);
}

TEST(schedules_of_rounds, alone_one_copies) {
    const problem p = reduction(1, 3);
    const auto all = schedules_of(p, {}, everybody(p));
    EXPECT_TRUE(verify(p, all).empty());
    EXPECT_EQ(steps(all[0], step_kind::copy), 3U);
}

TEST(schedules_of_rounds, of_some_ranks_are_theirs) {
    const problem p = reduction(9, 5,
                                {time_ns(0), time_ns(7000), time_ns(0), time_ns(300), time_ns(9), time_ns(0),
                                 time_ns(0), time_ns(2500), time_ns(0)});
    const instance in = instance_of(p);
    const auto all = schedules_of(p, generate(in), everybody(p));
    const std::vector<rank> some{rank(7), rank(0)};
    EXPECT_EQ(schedules_of(p, generate(in), some), (std::vector{all[7], all[0]}));
    EXPECT_EQ(schedules_of(p, generate(in, rank(7)), std::span(some).first(1)).front(), all[7]);
}

TEST(schedules_of_rounds, use_little_scratch) {
    const problem p = reduction(16, 64);
    for (const schedule& s : schedules_of(p, generate(instance_of(p)), everybody(p))) EXPECT_LE(s.scratch.size(), 8U);
}

/// Else two ranks that exchange segments would wait for each other.
TEST(schedules_of_rounds, a_receive_does_not_wait_for_the_send_of_its_round) {
    const problem p = reduction(8, 20, std::vector<time_ns>(8));
    const rounds r = generate(instance_of(p));
    for (const schedule& s : schedules_of(p, r, everybody(p)))
        for (std::size_t i = 1; i < s.steps.size(); ++i)
            if (s.steps[i].kind == step_kind::recv && s.steps[i - 1].kind == step_kind::send) {
                EXPECT_EQ(std::ranges::count(s.dependencies_of(i), i - 1), 0);
            }
}

std::size_t count(const std::string& text, std::string_view what) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++n;
    return n;
}

std::string picture(const problem& p) {
    const instance in = instance_of(p);
    return draw("a < b", in, generate(in));
}

TEST(draw_rounds, shows_every_transfer) {
    const problem p = reduction(4, 4);
    const std::string svg = picture(p);
    EXPECT_TRUE(svg.starts_with("<svg"));
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    EXPECT_EQ(count(svg, "<title>"), generate(instance_of(p)).transfers.size() + 1) << "and the picture's own";
    EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
    EXPECT_NE(svg.find("<title>1 to 0, segment 0, round 0</title>"), std::string::npos);
    EXPECT_EQ(svg.find("url(#away)"), std::string::npos) << "nobody is late";
}

TEST(draw_rounds, shows_who_is_late_and_breaks_off_idle_rounds) {
    const std::string svg =
        picture(reduction(4, 4, {time_ns(0), time_ns(0), time_ns(0), std::chrono::milliseconds(1)}));
    EXPECT_NE(svg.find(">994</text>"), std::string::npos);
    EXPECT_NE(svg.find("rank 3 arrives after 1.000 ms"), std::string::npos);
    // Before each of the 5 busy rounds and the gap, and in the legend.
    EXPECT_EQ(count(svg, "url(#away)"), 5U + 1 + 1);
}

TEST(draw_rounds, shows_less_of_many_ranks_and_says_so) {
    for (const auto& [ranks, segments] : {std::pair(200, 50U), std::pair(3, 900U)}) {
        const std::string svg = picture(reduction(ranks, segments));
        EXPECT_NE(svg.find("too much for a cell per segment"), std::string::npos);
        EXPECT_LT(svg.size(), 4'000'000U);
    }
}

TEST(draw_rounds, of_one_rank_are_none) { EXPECT_NE(picture(reduction(1, 1)).find("0 rounds"), std::string::npos); }

}  // namespace
}  // namespace rubato::schedules
