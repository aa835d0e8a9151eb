#include "simulator/programs/program.hpp"

#include "rubato/arrival.hpp"
#include "simulator/simulate/at_scale.hpp"
#include "support/error_text.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace rubato::simulator {
namespace {

using namespace std::chrono_literals;
using times = std::vector<time_ns>;

const model plain{hockney{1000, 2, 1}};

times sum(const times& a, const times& b) {
    times all;
    for (std::size_t r = 0; r < a.size(); ++r) all.push_back(a[r] + b[r]);
    return all;
}

simulation one_call(std::string_view id, std::int32_t ranks, std::int32_t root, std::int64_t chunk,
                    const times& arrivals) {
    const algorithm& a = find_algorithm(id);
    problem p;
    p.what = a.what;
    p.ranks = ranks;
    p.root = rank(root);
    const layout sizes = layout::uniform(chunk);
    return rubato::simulate(plain, build_all(a, p), std::span(&sizes, 1), arrivals);
}

/// Under hockney nothing of a call is left when its ranks have left it.
TEST(program, the_exits_of_a_call_are_the_arrivals_of_the_next) {
    const program p = parse_program(
        "ranks 7\n"
        "compute uniform:max=100us,seed=3\n"
        "allreduce/ring 7000  # the first\n"
        "\n"
        "compute 5us alternating:even=0,odd=30us\n"
        "compute 1us\n"
        "bcast/binomial 1000 root=2\n"
        "compute 9us\n",
        "p", 0);
    const played_program played = play(p, plain, {}, {});
    const times first = parse_arrivals("uniform:max=100us,seed=3", 7);
    const times left = one_call("allreduce/ring", 7, 0, 7000, first).exits;
    const times second = sum(left, times{6us, 36us, 6us, 36us, 6us, 36us, 6us});
    const times end = one_call("bcast/binomial", 7, 2, 1000, second).exits;
    EXPECT_EQ(played.exits, sum(end, times(7, 9us)));
    ASSERT_EQ(played.calls.size(), 2U);
    EXPECT_EQ(played.calls[0].run_time, run_time(first, left));
    EXPECT_EQ(played.calls[1].tail, tail(second, end));
    EXPECT_EQ(played.calls[1].imbalance, absolute_imbalance(second));
    EXPECT_EQ(played.computing[1], first[1] + 45us);
}

TEST(program, each_repeat_draws_other_times) {
    const program p = parse_program(
        "ranks 3\nrepeat 2 {\nrepeat 3 {\ncompute gamma:shape=2,scale=1ms,seed=1\nbarrier\n}\n}\n", "p", 0);
    ASSERT_EQ(p.events.size(), 6U);
    for (std::size_t i = 0; i < 6; ++i)
        EXPECT_EQ(p.events[i].computing,
                  parse_arrivals("gamma:shape=2,scale=1ms,seed=1", 3, static_cast<std::int64_t>(i)));
    EXPECT_EQ(parse_program("ranks 3\nbarrier\n", "p", 5).ranks, 5);
}

TEST(program, messages_go_along_the_graph) {
    const program p = parse_program("ranks 4\nexchange edges:0>3,2>3 1000\n", "p", 0);
    const played_program played = play(p, plain, {}, {});
    EXPECT_EQ(played.messages, 2);
    EXPECT_EQ(played.exits, (times{6us, 0us, 3us, 6us}));
}

TEST(program, a_call_of_some_ranks) {
    program p;
    p.ranks = 4;
    program_call c;
    c.what = collective::bcast;
    c.use = &find_algorithm("bcast/linear");
    c.chunk = 1000;
    c.root = rank(1);
    c.members = {3, 1};  // the root is rank 1 of the program
    p.calls.push_back(c);
    p.events.push_back({0, {0us, 2us}});
    EXPECT_EQ(play(p, plain, {}, {}).exits, (times{0us, 5us, 0us, 5us}));
    EXPECT_EQ(slowest_rank(p), 1U);
    even_out(p, 2);
    EXPECT_EQ(p.events[0].computing, (times{0us, 2us})) << "it takes no part";
    even_out(p, 1);
    EXPECT_EQ(p.events[0].computing, (times{0us, 0us}));
}

TEST(program, the_slowest_rank_is_evened_out) {
    program p = parse_program("ranks 4\ncompute 1us,9us,2us,3us\nbarrier\n", "p", 0);
    EXPECT_EQ(slowest_rank(p), 1U);
    even_out(p, 1);
    EXPECT_EQ(p.events[0].computing, (times{1us, 2us, 2us, 3us}));
}

TEST(program, an_arrival_aware_plan_knows_who_computes_long) {
    const program p = parse_program("ranks 8\ncompute single:rank=0,delay=1ms\nbcast 8000 root=3\n", "p", 0);
    const auto tail_of = [&](const char* id) {
        const algorithm& a = find_algorithm(id);
        return play(p, plain, {{a.what, &a}}, {}).calls[0].tail;
    };
    EXPECT_LT(tail_of("bcast/sorted_binomial"), tail_of("bcast/chain"));
    // The late rank is served last.
    EXPECT_EQ(tail_of("bcast/sorted_binomial"), 17us);
}

/// Whatever makes the calls, under hockney: links are busy for the whole of a message's time.
TEST(program, no_algorithm_ends_before_the_bound) {
    const link l{1000ns, 2};
    int tried = 0;
    for (const algorithm& a : algorithms()) {
        if (a.early || a.dynamic != nullptr || traits(a.what).on_graph || traits(a.what).irregular) continue;
        for (const std::int32_t ranks : {1, 2, 5, 8}) {
            problem asked;
            asked.what = a.what;
            asked.ranks = ranks;
            if (unmet_need(a, asked)) continue;
            ++tried;
            const std::string root = traits(a.what).rooted ? " root=" + std::to_string(ranks / 2) : "";
            const std::string chunk = traits(a.what).moves_data() ? " 4000" : "";
            const std::string text = fmt::format("ranks {}\nrepeat 5 {{\ncompute uniform:max=60us,seed=8\n{}{}{}\n}}\n",
                                                 ranks, a.id, chunk, root);
            const program p = parse_program(text, "p", 0);
            const time_ns bound = earliest_end(p, l);
            EXPECT_LE(bound, std::ranges::max(play(p, plain, {}, {}).exits)) << text;
            times least(static_cast<std::size_t>(ranks));
            for (const program_event& e : p.events) least = sum(least, e.computing);
            EXPECT_GE(bound, std::ranges::max(least)) << text;
        }
    }
    EXPECT_GT(tried, 150);
}

/// Late ranks take turns: where all wait for each other their delays add up, and where leaves run ahead they do not.
TEST(program, a_bound_of_ranks_that_run_ahead) {
    const link l{0ns, 1};
    const auto bound = [&](const char* call) {
        std::string text = "ranks 4\n";
        for (const char* late : {"1", "2", "3"})
            text += std::string("compute single:rank=") + late + ",delay=10us\n" + call + "\n";
        return earliest_end(parse_program(text, "p", 0), l);
    };
    EXPECT_EQ(bound("reduce/chain 1000"), 13001ns);    // the last to be late sends in three calls, and is late by 10 us
    EXPECT_EQ(bound("bcast/chain 1000"), 12us);        // the root is ahead; who is late gets two more
    EXPECT_EQ(bound("allreduce/ring 1000"), 33003ns);  // a microsecond of data after each last arrival
    EXPECT_EQ(bound("barrier/dissemination"), 30us);
}

TEST(program, the_result_is_the_same_on_any_number_of_cores) {
    const program p = parse_program(
        "compute alternating:even=2us,odd=9us\nbarrier/dissemination\ncompute single:rank=17,delay=50us\n"
        "barrier/dissemination\n",
        "p", 1 << 15);
    const model m{loggp{2000, 1000, 1500, 1, 0}};
    const noise detours = parse_noise("random:period=50us,duration=2us,seed=3");
    simulation_options how;
    how.detours = &detours;
    const played_program one = play(p, m, {}, how);
    how.cores = 2;
    EXPECT_EQ(play(p, m, {}, how).exits, one.exits);
}

TEST(program, too_large_ones_are_refused) {
    EXPECT_NE(error_text([] {
                  parse_program("ranks 1000\nrepeat 9999 {\nbarrier\n}\n", "p", 0);
              }).find("line 3 of program 'p': more than"),
              std::string::npos);
    EXPECT_NE(error_text([] {
                  play(parse_program("ranks 256\nrepeat 500 {\nalltoall/direct 256\n}\n", "p", 0), plain, {}, {});
              }).find("a program of more than"),
              std::string::npos);
}

}  // namespace
}  // namespace rubato::simulator
