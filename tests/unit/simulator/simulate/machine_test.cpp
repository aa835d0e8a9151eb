// Unequal ranks and links, and links that the ranks of a host share.
#include "rubato/algorithm.hpp"
#include "rubato/arrival.hpp"
#include "rubato/simulate.hpp"
#include "simulator/simulate/at_scale.hpp"
#include "support/error_text.hpp"
#include "support/hand_made.hpp"

#include <gtest/gtest.h>

namespace rubato::simulator {
namespace {

using std::chrono_literals::operator""ns;
using times = std::vector<time_ns>;

const model wire{loggp{100, 10, 5, 1, 2}};
const model plain{hockney{100, 1, 2}};
const model ops{loggops{100, 10, 5, 1}};

times exits(const model& m, const std::vector<schedule>& all, const std::vector<std::string>& slow,
            simulation_options how = {}, times arrivals = {}) {
    const layout sizes = layout::uniform(1001);
    const slow_ranks s = parse_slow(slow, static_cast<std::int32_t>(all.size()));
    how.slow = &s;
    arrivals.resize(all.size());
    return rubato::simulate(m, all, std::span(&sizes, 1), arrivals, how).exits;
}

TEST(slow_rank, its_processor_takes_longer) {
    const auto bcast = hand_made::flat_bcast(2);
    EXPECT_EQ(exits(wire, bcast, {}), (times{1010ns, 1120ns}));
    EXPECT_EQ(exits(wire, bcast, {"slow:rank=0,factor=3"}), (times{1030ns, 1140ns}));
    EXPECT_EQ(exits(wire, bcast, {"rank=1,factor=3"}), (times{1010ns, 1140ns}));
    EXPECT_EQ(exits(ops, bcast, {"rank=1,factor=3"}), (times{10ns, 1140ns}));
    // Combining takes 2002 ns, or twice that.
    const auto reduce = hand_made::chain_reduce(2, 1);
    EXPECT_EQ(exits(plain, reduce, {})[0] + 2002ns, exits(plain, reduce, {"rank=0,factor=2"})[0]);
    EXPECT_EQ(exits(wire, reduce, {})[0] + 2012ns, exits(wire, reduce, {"rank=0,factor=2"})[0]);
}

TEST(slow_link, its_messages_take_longer_both_ways) {
    const auto bcast = hand_made::flat_bcast(3);
    EXPECT_EQ(exits(plain, bcast, {}), (times{2202ns, 1101ns, 2202ns}));
    EXPECT_EQ(exits(plain, bcast, {"link=1,factor=2"}), (times{3303ns, 2202ns, 3303ns}));
    // The second message waits 1005, or twice that.
    EXPECT_EQ(exits(wire, bcast, {}), (times{2015ns, 1120ns, 2125ns}));
    EXPECT_EQ(exits(wire, bcast, {"link=1,factor=2"}), (times{3020ns, 2120ns, 3130ns}));
    EXPECT_EQ(exits(wire, bcast, {"link=0,factor=2"}), (times{4020ns, 2120ns, 4130ns}));
    EXPECT_EQ(exits(ops, bcast, {"link=1,factor=2"}), (times{2020ns, 2120ns, 3130ns}));
}

TEST(slow_rank, wrong_texts) {
    const auto text = [](const std::string& t) { return error_text([&] { parse_slow(std::array{t}, 4); }); };
    EXPECT_NE(text("rank=4,factor=2").find("'4' is not a rank"), std::string::npos);
    EXPECT_NE(text("rank=1,factor=0.5").find("factor"), std::string::npos);
    EXPECT_NE(text("rank=1").find("factor"), std::string::npos);
    EXPECT_NE(text("factor=2").find("either a rank or its link"), std::string::npos);
    EXPECT_NE(text("rank=1,link=1,factor=2").find("either a rank or its link"), std::string::npos);
    EXPECT_NE(text("core=1,factor=2").find("core"), std::string::npos);
}

/// Ranks 0 and 1, on one host, send to 2 and 3, on another.
std::vector<schedule> two_pairs() {
    return hand_made::all_ranks(collective::bcast, 4, 1, [](builder& b, std::int32_t r) {
        if (r < 2)
            b.send(rank(r + 2), b.input());
        else
            b.recv(rank(r - 2), b.output());
    });
}

TEST(shared_links, messages_of_a_host_go_one_after_the_other) {
    const std::vector<std::int32_t> hosts{0, 0, 1, 1};
    simulation_options how;
    how.hosts = hosts;
    EXPECT_EQ(exits(wire, two_pairs(), {}, how), (times{1010ns, 1010ns, 1120ns, 1120ns}));
    EXPECT_EQ(exits(ops, two_pairs(), {}, how), (times{10ns, 10ns, 1120ns, 1120ns}));
    how.shared_links = true;
    EXPECT_EQ(exits(wire, two_pairs(), {}, how), (times{1010ns, 2015ns, 1120ns, 2125ns}));
    EXPECT_EQ(exits(ops, two_pairs(), {}, how), (times{10ns, 1015ns, 1120ns, 2125ns}));
}

/// A rank that is late, and whose send is ready when it arrives, does not hold the link before.
TEST(shared_links, nobody_waits_for_a_message_that_comes_later) {
    const std::vector<std::int32_t> hosts{0, 0, 1, 1};
    simulation_options how;
    how.hosts = hosts;
    how.shared_links = true;
    for (const model& m : {wire, ops}) {
        const times late = exits(m, two_pairs(), {}, how, {50000ns, 0ns, 0ns, 0ns});
        EXPECT_EQ(late[3], 1120ns);
        EXPECT_EQ(late[2], 51120ns);
    }
    // A slow processor is ready with its overhead only when the other's message has long left. In LogGOPS a send takes
    // the interface at its beginning.
    EXPECT_EQ(exits(wire, two_pairs(), {"rank=0,factor=1000"}, how)[3], 1120ns);
    EXPECT_EQ(exits(ops, two_pairs(), {"rank=0,factor=1000"}, how)[3], 2125ns);
}

TEST(shared_links, within_a_host_no_link_is_used) {
    const std::vector<std::int32_t> hosts{0, 0, 0, 0};
    simulation_options how;
    how.hosts = hosts;
    how.shared_links = true;
    EXPECT_EQ(exits(wire, two_pairs(), {}, how), (times{1010ns, 1010ns, 1120ns, 1120ns}));
}

TEST(shared_links, are_refused_where_there_are_none) {
    const std::vector<std::int32_t> hosts{0, 0, 1, 1};
    simulation_options how;
    how.shared_links = true;
    EXPECT_NE(error_text([&] { exits(wire, two_pairs(), {}, how); }).find("host of its own"), std::string::npos);
    how.hosts = hosts;
    EXPECT_NE(error_text([&] { exits(plain, two_pairs(), {}, how); }).find("no interfaces to share"),
              std::string::npos);
}

/// Equal ranks have a simulator of their own.
TEST(unequal_ranks, that_differ_by_nothing_take_as_long_as_equal_ones) {
    constexpr std::int32_t ranks = 13;
    const slow_ranks same{std::vector<double>(ranks, 1), std::vector<double>(ranks, 1)};
    simulation_options how;
    const layout sizes = layout::uniform(1001);
    for (const char* id : {"bcast/chain", "reduce/two_tree", "allreduce/ring", "alltoall/direct", "scatter/binary"}) {
        problem p;
        p.what = find_algorithm(id).what;
        p.ranks = ranks;
        p.segments = 4;
        const std::vector<schedule> all = build_all(find_algorithm(id), p);
        for (const model& m : {wire, model{loggp5{100, 10, 1}}})
            for (const char* pattern : {"balanced", "uniform:max=2us,seed=5"}) {
                const times arrivals = parse_arrivals(pattern, ranks);
                how.slow = nullptr;
                const times equal = rubato::simulate(m, all, std::span(&sizes, 1), arrivals, how).exits;
                how.slow = &same;
                EXPECT_EQ(rubato::simulate(m, all, std::span(&sizes, 1), arrivals, how).exits, equal) << id;
            }
    }
}

TEST(unequal_ranks, the_result_is_the_same_on_any_number_of_cores) {
    const algorithm& a = find_algorithm("barrier/dissemination");
    problem p;
    p.what = a.what;
    p.ranks = 1 << 15;
    p.arrivals = parse_arrivals("uniform:max=20us,seed=3", p.ranks);
    std::vector<std::string> texts{"rank=5,factor=7", "rank=30000,factor=2", "link=17,factor=3"};
    const slow_ranks slow = parse_slow(texts, p.ranks);
    const layout sizes = layout::uniform(0);
    const model m{loggp{2000, 1000, 1500, 1, 0}};
    simulation_options how;
    how.slow = &slow;
    schedules::shape_table ranks = shapes_of(a, p, std::span(&sizes, 1));
    const times one = simulate(m, ranks, p.arrivals, how).exits;
    how.cores = 2;
    EXPECT_EQ(simulate(m, ranks, p.arrivals, how).exits, one);
    how.slow = nullptr;
    EXPECT_NE(simulate(m, ranks, p.arrivals, how).exits, one);
}

}  // namespace
}  // namespace rubato::simulator
