#include "simulator/programs/goal.hpp"

#include "loggops_reference.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/simulate.hpp"
#include "simulator/simulate/at_scale.hpp"
#include "support/error_text.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

namespace rubato::simulator {
namespace {

using std::chrono_literals::operator""ns;
using times = std::vector<time_ns>;

const loggops defaults{2500, 1500, 1000, 6, 65535};

times exits(const goal_file& g, const model& m) {
    schedules::shape_table ranks(static_cast<std::int32_t>(g.ranks.size()));
    for (const schedules::sized_schedule& s : schedules_of(g)) ranks.add(s);
    return simulate(m, ranks, times(g.ranks.size())).exits;
}
times exits(std::string_view text, const loggops& m = defaults) { return exits(parse_goal(text, "x"), model{m}); }

goal_file data(const std::string& name) { return read_goal(RUBATO_SOURCE "/tests/data/" + name + ".goal"); }

TEST(loggops, one_message) {
    EXPECT_EQ(exits("num_ranks 2\nrank 0 {\nsend 101b to 1\n}\nrank 1 {\nrecv 101b from 0\n}\n"),
              (times{1500ns, 4000ns + 2100ns}));
}

/// The interface is busy with the first for 7000, then the receiver's processor with each for 7500.
TEST(loggops, two_messages_in_a_row) {
    EXPECT_EQ(exits("num_ranks 2\nrank 0 {\nsend 1001b to 1\nsend 1001b to 1 tag 1\n}\n"
                    "rank 1 {\nrecv 1001b from 0\nrecv 1001b from 0 tag 1\n}\n"),
              (times{8500ns, 19000ns}));
}

TEST(loggops, a_processor_that_computes_takes_no_message) {
    EXPECT_EQ(
        exits("num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\na: calc 20000\nb: recv 1b from 0\nb requires a\n}\n"),
        (times{1500ns, 21500ns}));
}

/// The message of rank 2 is taken in when it comes, and costs nothing when it is received.
TEST(loggops, an_unexpected_message_is_taken_before_its_receive) {
    EXPECT_EQ(exits("num_ranks 3\nrank 0 {\na: recv 1b from 1\nb: recv 1b from 2\nb requires a\n}\n"
                    "rank 1 {\nc: calc 30000\ns: send 1b to 0\ns requires c\n}\nrank 2 {\nsend 1b to 0\n}\n"),
              (times{35500ns, 31500ns, 1500ns}));
}

TEST(loggops, a_large_message_holds_its_sender_until_it_is_taken) {
    const std::string text =
        "num_ranks 2\nrank 0 {\na: send 100000b to 1\nb: calc 1\nb requires a\n}\n"
        "rank 1 {\nc: calc {}\nr: recv 100000b from 0\nr requires c\n}\n";
    const auto with = [&](int late) {
        return exits(fmt::format("{}{}{}", text.substr(0, text.find("{}")), late, text.substr(text.find("{}") + 2)));
    };
    EXPECT_EQ(with(0), (times{4001ns, 605494ns}));
    EXPECT_EQ(with(10000), (times{10001ns, 611494ns}));
    loggops eager = defaults;
    eager.S = 100000;
    EXPECT_EQ(exits("num_ranks 2\nrank 0 {\nsend 100000b to 1\n}\nrank 1 {\nrecv 100000b from 0\n}\n", eager)[0],
              1500ns);
}

/// A calc that irequires a large send overlaps with it; one that requires it does not.
TEST(loggops, irequires_waits_for_the_beginning) {
    const std::string head = "num_ranks 2\nrank 0 {\na: send 100000b to 1\nb: calc 3000\nb ";
    const std::string rest = " a\n}\nrank 1 {\nc: calc 50000\nr: recv 100000b from 0\nr requires c\n}\n";
    EXPECT_EQ(exits(head + "irequires" + rest)[0], 50000ns);
    EXPECT_EQ(exits(head + "requires" + rest)[0], 53000ns);
    const std::string posted =
        "num_ranks 2\nrank 0 {\nc: calc 9000\na: send 1b to 1\na requires c\n}\n"
        "rank 1 {\nr: recv 1b from 0\nb: calc 5000\nb irequires r\n}\n";
    EXPECT_EQ(exits(posted)[1], 14500ns);
}

TEST(loggops, dissemination) {
    const goal_file g = data("dissemination");
    EXPECT_EQ(exits(g, model{defaults}), times(16, 22000ns));
}

TEST(loggops, binomial) {
    EXPECT_EQ(exits(data("binomial"), model{defaults}),
              (times{15500ns, 25500ns, 20000ns, 30000ns, 20000ns, 30000ns, 24500ns, 34500ns}));
}

TEST(loggops, all_to_all) { EXPECT_EQ(exits(data("alltoall"), model{defaults}), times(4, 34500ns)); }

/// Rank 2 takes in the four messages that wait for it before it sends the second; the first was there before.
TEST(loggops, ring) {
    const goal_file g = data("ring");
    const times all = exits(g, model{defaults});
    EXPECT_EQ(all[2], 64600ns);
    EXPECT_EQ(all[3], 73300ns);
    EXPECT_EQ(all, loggops_reference(g.ranks, defaults).exits());
    EXPECT_EQ(arrivals_of(g), (times{0ns, 0ns, 50000ns, 0ns, 0ns}));
}

/// Any operations whose order in the file of all ranks is one in which they can run.
std::vector<goal_rank> random_goal(std::mt19937& random) {
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    std::vector<goal_rank> all(2 + below(6));
    const auto add = [&](std::uint32_t r, const goal_op& op) {
        goal_rank& mine = all[r];
        const auto me = static_cast<std::uint32_t>(mine.ops.size());
        mine.ops.push_back(op);
        for (std::uint32_t n = below(3); me > 0 && n > 0; --n) mine.waits.push_back({me, below(me), below(4) == 0});
    };
    const auto ranks = static_cast<std::uint32_t>(all.size());
    for (std::uint32_t tag = 0; tag < 40; ++tag) {
        const std::uint32_t from = below(ranks);
        if (below(4) == 0) {
            add(from, {goal_kind::calc, 0, 0, below(3) * 1000});
            continue;
        }
        const std::uint32_t to = (from + 1 + below(ranks - 1)) % ranks;
        const std::int64_t size = std::array{1, 2, 101, 1001}[below(4)];
        add(from, {goal_kind::send, static_cast<std::int32_t>(to), tag, size});
        add(to, {goal_kind::recv, static_cast<std::int32_t>(from), tag, size});
    }
    return all;
}

/// Coarse times make for many events at once.
TEST(loggops, random_programs_end_when_the_plain_simulation_says) {
    std::mt19937 random(22);
    for (int i = 0; i < 3000; ++i) {
        const auto pick = [&](int n) { return static_cast<double>(500 * (random() % static_cast<unsigned>(n))); };
        const loggops m{pick(4), pick(4), pick(4), static_cast<double>(random() % 3), i % 2 == 0 ? 65535 : 100};
        const goal_file g{"random", random_goal(random)};
        ASSERT_EQ(exits(g, model{m}), loggops_reference(g.ranks, m).exits()) << i << '\n' << goal_text(g.ranks);
    }
}

TEST(goal, both_forms_are_read_back) {
    std::mt19937 random(1);
    for (int i = 0; i < 50; ++i) {
        std::vector<goal_rank> all = random_goal(random);
        EXPECT_EQ(parse_goal(goal_text(all), "x").ranks, all);
        // The binary form lists who waits by what is waited for.
        for (goal_rank& r : all)
            std::ranges::stable_sort(r.waits, {}, [](const goal_wait& w) { return std::pair(w.other, w.begin); });
        EXPECT_EQ(parse_goal(goal_binary(all), "x").ranks, all);
    }
}

TEST(goal, the_binary_form_is_that_of_txt2bin) {
    const goal_file g = parse_goal("num_ranks 1\nrank 0 {\na: calc 5\nb: calc 6\nb requires a\n}\n", "x");
    const auto bytes = [](std::initializer_list<int> all) {
        std::string s;
        for (const int b : all) s += static_cast<char>(b);
        return s;
    };
    EXPECT_EQ(goal_binary(g.ranks),
              bytes({0x7f, 0x10, 0, 0, 0, 0, 0, 0}) +                           // 4223
                  bytes({1, 0, 0, 0, 0, 0}) +                                   // ranks, cpu, nic
                  bytes({22, 0, 0, 0, 0, 0, 0, 0, 116, 0, 0, 0, 0, 0, 0, 0}) +  // where it begins and ends
                  bytes({2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}) +                 // operations, that begin
                  bytes({0, 0, 0, 0, 3, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}) +
                  bytes({1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}) +  // one waits for its end
                  bytes({1, 0, 0, 0, 3, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}) +
                  bytes({0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}) +  //
                  bytes({1, 0, 0, 0}));                                      // the second
}

TEST(goal, comments_and_labels_that_come_later) {
    EXPECT_EQ(exits("/* two\nlines */ num_ranks 1 // one\nrank 0 {\nb requires a // the other way round\nb: calc 5\n"
                    "a: calc 7 cpu 0\n}"),
              times{12ns});
}

TEST(goal, algorithms_are_written_as_they_are_simulated) {
    for (const char* id : {"bcast/binomial", "barrier/dissemination", "allgather/ring", "alltoall/pairwise",
                           "reduce/binomial", "allreduce/recursive_doubling", "scatter/linear"}) {
        const algorithm& a = find_algorithm(id);
        problem p;
        p.what = a.what;
        p.ranks = 11;
        p.arrivals.resize(11);
        for (std::size_t r = 0; r < p.arrivals.size(); ++r) p.arrivals[r] = time_ns(r * r * 977 % 20000);
        const model m{loggops{2500, 1500, 1000, 0.5, 4096, 0.25}};
        const std::vector<schedule> all = build_all(a, p);
        const layout sizes = layout::uniform(999);
        goal_file g{"written", {}};
        schedules::sized_schedule sized;
        for (std::size_t r = 0; r < all.size(); ++r) {
            schedules::size_schedule(all[r], sizes, sized);
            g.ranks.push_back(goal_of(sized, p.arrivals[r], m));
        }
        EXPECT_EQ(exits(parse_goal(goal_text(g.ranks), "x"), m),
                  rubato::simulate(m, all, std::span(&sizes, 1), p.arrivals).exits)
            << id;
        EXPECT_EQ(arrivals_of(g), p.arrivals) << id;
    }
}

/// The same file under the other models: calc is computing. LogGP lets it overlap with a receive that was posted,
/// Hockney does not.
TEST(goal, other_models_play_it) {
    const goal_file g = parse_goal(
        "num_ranks 2\nrank 0 {\nc: calc 100\ns: send 10b to 1\ns requires c\n}\n"
        "rank 1 {\nr: recv 10b from 0\nb: calc 1000\nb irequires r\n}\n",
        "x");
    EXPECT_EQ(exits(g, model{hockney{50, 1, 0}}), (times{160ns, 1160ns}));
    EXPECT_EQ(exits(g, model{loggp{30, 10, 10, 1, 0}}), (times{119ns, 1010ns}));
    EXPECT_EQ(exits(g, model{loggp5{30, 10, 1}}), (times{120ns, 1010ns}));
}

std::string refused(const std::string& body) {
    return error_text([&] { schedules_of(parse_goal(body, "f.goal")); });
}

TEST(goal, wrong_text_is_refused_with_its_line) {
    const auto in_rank = [](const std::string& body) {
        return refused("num_ranks 2\nrank 0 {\n" + body + "\n}\nrank 1 {\n}\n");
    };
    EXPECT_EQ(refused(""),
              "line 1 of GOAL file 'f.goal': the end: there is no num_ranks; begin the file with num_ranks N");
    const auto starts = [](const std::string& text, std::string_view with) {
        EXPECT_TRUE(text.starts_with("line ") && text.find(with) != std::string::npos) << text;
    };
    starts(refused("rank 0 {\n}\n"), "line 1 of GOAL file 'f.goal': a rank: the number of ranks is not known yet");
    starts(refused("num_ranks 2\nrank 0 {\n}\n"), "rank 1 has no block");
    starts(refused("num_ranks 1\nrank 0 {\n"), "the block of rank 0 has no end");
    starts(refused("num_ranks 1\nrank 0 {\n}\n/* and\nso on"),
           "line 4 of GOAL file 'f.goal': a comment that does not end");
    starts(in_rank("send 5b to 2"), "line 3 of GOAL file 'f.goal': rank 2: ranks are numbered 0 to 1");
    starts(in_rank("send 5 to 1"), "'to': 'b' is expected here");
    starts(in_rank("send 5b from 1"), "'from': 'to' is expected here");
    starts(in_rank("send 5b"), "the line ends: to is expected");
    starts(in_rank("calc x"), "line 3 of GOAL file 'f.goal': 'x' is not a number of nanoseconds");
    starts(in_rank("calc 5 cpu 1"), "cpu 1: ranks have one processor");
    starts(in_rank("recv 5b from 1 nic 2"), "nic 2: ranks have one processor");
    starts(in_rank("recv 5b from -1"), "rank -1: here a receive says which message it takes");
    starts(in_rank("recv 5b from 1 tag -1"), "tag -1: here a receive says which message it takes");
    starts(in_rank("calc 5 5"), "'5': the line should end here");
    starts(in_rank("a: calc 5\na: calc 6"), "line 4 of GOAL file 'f.goal': label a a second time");
    starts(in_rank("a: calc 5\na requires b"), "line 4 of GOAL file 'f.goal': label b: no operation of rank 0 has it");
    starts(in_rank("a: calc 5\nb: calc 5\na requires b\nb requires a"),
           "line 3 of GOAL file 'f.goal': an operation that never begins");
    starts(in_rank("\nsend 5b to 1"), "line 4 of GOAL file 'f.goal': a message that is not received");
    starts(in_rank("recv 5b from 1 tag 3"),
           "line 3 of GOAL file 'f.goal': a message that is not sent: rank 1 has too few");
}

TEST(goal, a_cut_binary_file_is_refused) {
    const std::string whole = goal_binary(data("binomial").ranks);
    for (std::size_t n = 8; n < whole.size(); n += 7)
        EXPECT_NE(error_text([&] { parse_goal(whole.substr(0, n), "f.bin"); }).find("GOAL file 'f.bin': "),
                  std::string::npos);
    std::string other = whole;
    other[0] = 1;
    EXPECT_NE(error_text([&] { parse_goal(other, "f.bin"); }).find("does not begin with 4223"), std::string::npos);
}

/// Such a file would take many times its size in memory.
TEST(goal, a_binary_file_whose_parts_share_bytes_is_refused) {
    const auto refuses = [](const std::string& bytes) {
        const std::string said = error_text([&] { parse_goal(bytes, "f.bin"); });
        EXPECT_NE(said.find("share its bytes, so it was cut or changed"), std::string::npos) << said;
    };
    std::string ranks = goal_binary(std::vector<goal_rank>(64, data("binomial").ranks[0]));
    for (std::size_t r = 1; r < 64; ++r) ranks.replace(14 + 16 * r, 8, ranks, 14, 8);  // all begin where the first does
    ranks.resize(ranks.size() / 2);
    refuses(ranks);
    std::string text = "num_ranks 1\nrank 0 {\na: calc 5\n";
    for (int i = 0; i < 20; ++i) text += fmt::format("b{}: calc 6\nb{} requires a\n", i, i);
    std::string waits = goal_binary(parse_goal(text + "}\n", "x").ranks);
    constexpr std::size_t first = 14 + 16 + 12;  // operation
    waits[first + 31] = 20;                      // as many wait for its beginning as for its end, in the same place
    waits.replace(first + 35, 4, 4, '\0');
    refuses(waits);
}

}  // namespace
}  // namespace rubato::simulator
