#include "schedules/draw/cost_pictures.hpp"

#include "support/occurrences.hpp"

#include <gtest/gtest.h>

namespace rubato::schedules {
namespace {

using testing::occurrences;

TEST(draw_map, has_a_field_for_each_problem_and_a_legend) {
    const std::string svg =
        draw_map({"a < b", "", "ranks", "bytes", {"2", "4", "8"}, {"1 B", "1 KiB"}, {"x", "y"}, {0, 0, 1, 1, 1, 1}});
    EXPECT_EQ(occurrences(svg, ">a</text>"), 2U + 1U);
    EXPECT_EQ(occurrences(svg, ">b</text>"), 4U + 1U);
    EXPECT_EQ(occurrences(svg, ">x</text>"), 1U);
    EXPECT_EQ(occurrences(svg, ">1 KiB</text>"), 1U);
    EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(draw_map, letters_do_not_end) {
    EXPECT_EQ(map_letter(0), "a");
    EXPECT_EQ(map_letter(25), "z");
    EXPECT_EQ(map_letter(26), "aa");
    EXPECT_EQ(map_letter(27), "ab");
    EXPECT_EQ(map_letter(26 + 26 * 26), "aaa");
}

TEST(draw_front, lists_the_front_and_shows_the_others) {
    std::vector<three_costs> all{{"fast", 1000, 2e-3, 64, true, {"1 us", "2 mJ", "64 B"}},
                                 {"slow", 9000, 3e-3, 64, false, {"9 us", "3 mJ", "64 B"}},
                                 {"small", 2000, 3e-3, 32, true, {"2 us", "3 mJ", "32 B"}}};
    const std::string svg = draw_front("costs", "", all);
    EXPECT_EQ(occurrences(svg, "<circle"), 3U);
    EXPECT_EQ(occurrences(svg, "<circle class=\"wait\""), 1U);
    EXPECT_EQ(occurrences(svg, ">fast</text>"), 1U);
    EXPECT_EQ(occurrences(svg, ">slow</text>"), 0U);
    EXPECT_EQ(occurrences(svg, ">32 B</text>"), 1U);
}

TEST(draw_front, equal_and_missing_costs_have_a_place) {
    for (const double cost : {0., 5.}) {
        const std::string svg = draw_front("costs", "", {{"one", cost, cost, cost, true, {}}});
        EXPECT_EQ(occurrences(svg, "<circle"), 1U);
        EXPECT_EQ(svg.find("nan"), std::string::npos);
        EXPECT_EQ(svg.find("inf"), std::string::npos);
    }
}

}  // namespace
}  // namespace rubato::schedules
