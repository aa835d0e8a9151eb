#include "rubato/draw.hpp"

#include "rubato/algorithm.hpp"
#include "rubato/builder.hpp"
#include "support/occurrences.hpp"
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rubato::schedules {
namespace {

using testing::occurrences;

problem make_problem(collective what, std::int32_t ranks) {
    problem p;
    p.what = what;
    p.ranks = ranks;
    add_neighbours(p);
    return p;
}

/// A chain of ranks that passes the data on part by part.
std::vector<schedule> chain(const problem& p, std::uint32_t parts) {
    std::vector<schedule> all;
    for (std::int32_t r = 0; r < p.ranks; ++r) {
        builder b(p, rank(r), parts);
        for (std::uint32_t s = 0; s < parts; ++s) {
            if (r > 0) b.recv(rank(r - 1), b.output().sub(s));
            if (r + 1 < p.ranks) b.send(rank(r + 1), (r > 0 ? b.output() : b.input()).sub(s));
        }
        all.push_back(std::move(b).finish());
    }
    return all;
}

TEST(timetable, a_binomial_tree_takes_the_logarithm_of_its_ranks) {
    for (const char* id : {"bcast/binomial", "reduce/binomial"}) {
        const algorithm& a = find_algorithm(id);
        for (std::int32_t ranks = 1; ranks <= 40; ++ranks) {
            const problem p = make_problem(a.what, ranks);
            EXPECT_EQ(make_timetable(p, build_all(a, p)).rounds, ceil_log2(ranks)) << id << ranks;
        }
    }
}

TEST(timetable, a_message_carries_blocks_that_there_are) {
    for (const algorithm& a : algorithms()) {
        for (const std::int32_t ranks : {3, 8}) {
            problem p = make_problem(a.what, ranks);
            p.arrivals.assign(static_cast<std::size_t>(ranks), time_ns{});
            p.arrivals[1] = time_ns(100'000);  // some copy within scratch then
            p.round_time = time_ns(10);
            if (unmet_need(a, p)) continue;
            const timetable t = make_timetable(p, build_all(a, p));
            for (const message& m : t.messages)
                for (const block b : m.blocks) ASSERT_LT(b, t.blocks) << a.id << ", " << ranks << " ranks";
        }
    }
}

TEST(timetable, a_rank_sends_and_receives_one_message_at_a_time) {
    for (const algorithm& a : algorithms()) {
        problem p = make_problem(a.what, 8);
        p.segments = 3;
        if (unmet_need(a, p)) continue;
        const std::vector<schedule> all = build_all(a, p);
        const timetable t = make_timetable(p, all);
        std::vector<std::pair<std::int64_t, rank>> sends;
        std::vector<std::pair<std::int64_t, rank>> recvs;
        for (const message& m : t.messages) {
            sends.emplace_back(m.round, m.from);
            recvs.emplace_back(m.round, m.to);
            const auto from = static_cast<std::size_t>(m.from.value);
            for (const std::uint32_t d : all[from].dependencies_of(m.send)) EXPECT_LT(t.ends[from][d], m.round) << a.id;
        }
        for (auto* both : {&sends, &recvs}) {
            std::ranges::sort(*both);
            EXPECT_EQ(std::ranges::adjacent_find(*both), both->end()) << a.id;
        }
    }
}

TEST(timetable, a_chain_of_parts_is_a_pipeline) {
    const problem p = make_problem(collective::bcast, 6);
    EXPECT_EQ(make_timetable(p, chain(p, 10)).rounds, 6 - 2 + 10);
}

TEST(timetable, follows_blocks_through_scratch) {
    const problem p = make_problem(collective::allgather, 3);
    std::vector<schedule> all;
    for (std::int32_t r = 0; r < 3; ++r) {
        builder b(p, rank(r), 1);
        const slice s = b.scratch(0, 2);
        if (r == 2) b.send(rank(1), b.input());
        if (r == 1) {
            b.recv(rank(2), s.sub(1));
            b.copy(b.input(), s.sub(0));
            b.send(rank(0), s);
        }
        if (r == 0) b.recv(rank(1), s);
        all.push_back(std::move(b).finish());
    }
    const timetable t = make_timetable(p, all);
    ASSERT_EQ(t.messages.size(), 2U);
    EXPECT_EQ(t.blocks, 3U);
    EXPECT_EQ(t.messages[0].blocks, (std::vector<block>{2}));
    EXPECT_EQ(t.messages[1].blocks, (std::vector<block>{1, 2}));
    EXPECT_EQ(block_label(t, t.messages[1]), "1-2");
    message around = t.messages[1];
    around.blocks = {2, 0};
    EXPECT_EQ(block_label(t, around), "2-0");
    around.blocks = {0, 2};
    EXPECT_EQ(block_label(t, around), "x2");
}

TEST(timetable, rejects_what_never_ends) {
    const problem p = make_problem(collective::bcast, 2);
    std::vector<schedule> all = chain(p, 1);
    all[1].steps[0].message = 7;
    EXPECT_THROW(make_timetable(p, all), error);

    all.clear();
    for (std::int32_t r = 0; r < 2; ++r) {
        builder b(make_problem(collective::barrier, 2), rank(r), 1);
        b.recv(rank(1 - r), builder::nothing());
        b.fence();
        b.send(rank(1 - r), builder::nothing());
        all.push_back(std::move(b).finish());
    }
    EXPECT_THROW(make_timetable(p, all), error);
}

TEST(draw_text, shows_a_binomial_tree) {
    const problem p = make_problem(collective::reduce, 8);
    const std::vector<schedule> all = build_all(find_algorithm("reduce/binomial"), p);
    EXPECT_EQ(draw_text({"reduce/binomial", p, all}),
              "reduce/binomial: 8 ranks, root 0; 7 messages in 3 rounds, 7 combinations\n"
              "\n"
              "round 1   0<-1  2<-3  4<-5  6<-7\n"
              "round 2   0<-2  4<-6\n"
              "round 3   0<-4\n"
              "\n"
              "           0   1   2   3   4   5   6   7\n"
              "round 1    |<--|   |<--|   |<--|   |<--|\n"
              "round 2    |<------|   |   |<------|   |\n"
              "round 3    |<--------------|   |   |   |\n");
}

TEST(draw_text, names_the_blocks_if_there_are_several) {
    const problem p = make_problem(collective::bcast, 4);
    EXPECT_EQ(draw_text({"chain", p, chain(p, 2)}),
              "chain: 4 ranks, root 0, 2 parts; 6 messages in 4 rounds\n"
              "\n"
              "round 1   1<-0:0\n"
              "round 2   1<-0:1  2<-1:0\n"
              "round 3   2<-1:1  3<-2:0\n"
              "round 4   3<-2:1\n"
              "\n"
              "           0   1   2   3\n"
              "round 1    |-0>|   |   |\n"
              "round 2    |-1>|-0>|   |\n"
              "round 3    |   |-1>|-0>|\n"
              "round 4    |   |   |-1>|\n");
}

TEST(draw_text, an_exchange_is_one_line_with_two_heads) {
    const problem p = make_problem(collective::barrier, 3);
    std::vector<schedule> all;
    for (std::int32_t r = 0; r < 3; ++r) {
        builder b(p, rank(r), 1);
        if (r != 1) {
            b.send(rank(2 - r), builder::nothing());
            b.recv(rank(2 - r), builder::nothing());
        }
        all.push_back(std::move(b).finish());
    }
    EXPECT_NE(draw_text({"exchange", p, all}).find("round 1    |<----->|\n"), std::string::npos);
}

TEST(draw_text, leaves_out_pictures_nobody_can_read) {
    const problem p = make_problem(collective::bcast, 100);
    const std::string text = draw_text({"bcast/binomial", p, build_all(find_algorithm("bcast/binomial"), p)});
    EXPECT_NE(text.find("round 7 "), std::string::npos);
    EXPECT_NE(text.find("(too large to be drawn with characters)\n"), std::string::npos);
}

TEST(draw_text, one_rank_alone_says_nothing) {
    const problem p = make_problem(collective::bcast, 1);
    EXPECT_EQ(draw_text({"bcast/binomial", p, build_all(find_algorithm("bcast/binomial"), p)}),
              "bcast/binomial: 1 rank, root 0; 0 messages in 0 rounds\n");
}

TEST(draw_svg, has_a_lane_per_rank_an_arrow_per_message_and_a_mark_per_combination) {
    const problem p = make_problem(collective::reduce, 16);
    const std::string svg = draw_svg({"a < b & c", p, build_all(find_algorithm("reduce/binomial"), p)});
    EXPECT_EQ(svg.substr(0, 4), "<svg");
    EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
    EXPECT_NE(svg.find("<title>a &lt; b &amp; c</title>"), std::string::npos);
    EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos);
    EXPECT_EQ(occurrences(svg, "class=\"lane\""), 16U);
    EXPECT_EQ(occurrences(svg, "</title></path>"), 15U);
    EXPECT_EQ(occurrences(svg, "<circle class=\"hole\""), 15U + 1U) << "one in the legend";
    EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(draw_svg, shows_arrivals_in_real_time) {
    using namespace std::chrono_literals;
    const problem p = make_problem(collective::bcast, 2);
    const std::vector<schedule> all = chain(p, 1);
    const std::vector<std::vector<span_ns>> times{{{0us, 10us}}, {{5us, 12us}}};
    const std::vector<time_ns> arrivals{0us, 5us};
    const std::string svg = draw_svg({"late", p, all, times, arrivals, "because"});
    EXPECT_NE(svg.find("last exit at 12.00 us; because<"), std::string::npos);
    EXPECT_NE(svg.find("last arrival"), std::string::npos);
    EXPECT_NE(svg.find("0 to 1, 0 ns to 12.00 us"), std::string::npos);
    EXPECT_EQ(occurrences(svg, "class=\"absent\""), 1U) << "rank 1 was away for a while";
}

TEST(draw_svg, draws_even_where_nothing_happens) {
    const problem p = make_problem(collective::bcast, 1);
    const std::string svg = draw_svg({"alone", p, build_all(find_algorithm("bcast/binomial"), p)});
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(occurrences(svg, "class=\"lane\""), 1U);
}

TEST(draw_bars, splits_each_bar_at_the_last_arrival) {
    using namespace std::chrono_literals;
    const std::vector<bar> bars{{"reduce/one", 10ms, 4ms}, {"reduce/two", 20ms, 20ms}};
    const std::string svg = draw_bars("comparison", "a & b", bars);
    EXPECT_NE(svg.find("reduce/one"), std::string::npos);
    EXPECT_NE(svg.find("10.000 ms, tail 4.000 ms"), std::string::npos);
    EXPECT_EQ(occurrences(svg, "<rect class=\"tail\""), 3U) << "one in the legend";
    EXPECT_EQ(draw_bars("empty", "", {}).find("nan"), std::string::npos);
}

}  // namespace
}  // namespace rubato::schedules
