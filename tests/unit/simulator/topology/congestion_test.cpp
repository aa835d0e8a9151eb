#include "simulator/topology/congestion.hpp"

#include "rubato/algorithm.hpp"
#include "simulator/simulate/at_scale.hpp"
#include "support/error_text.hpp"
#include "support/networks.hpp"

#include <gtest/gtest.h>

namespace rubato::simulator {
namespace {

traffic traffic_of_algorithm(const char* id, std::int32_t ranks) {
    problem p;
    const algorithm& a = find_algorithm(id);
    p.what = a.what;
    p.ranks = ranks;
    const layout sizes = layout::uniform(100);
    schedules::shape_table shapes = shapes_of(a, p, std::span(&sizes, 1));
    return traffic_of(shapes);
}

TEST(traffic, of_a_schedule_has_its_rounds) {
    const traffic dissemination = traffic_of_algorithm("barrier/dissemination", 16);
    ASSERT_EQ(dissemination.rounds.size(), 4U);
    const traffic pattern = *named_pattern("dissemination", 16);
    for (std::size_t i = 0; i < 4; ++i) {
        ASSERT_EQ(dissemination.rounds[i].messages.size(), 16U);
        for (const message& m : dissemination.rounds[i].messages) EXPECT_EQ(m.to, (m.from + (1U << i)) % 16);
    }
    EXPECT_EQ(pattern.rounds.size(), 4U);
    // Rounds that are alike are one with a count.
    const traffic ring = traffic_of_algorithm("allgather/ring", 8);
    ASSERT_EQ(ring.rounds.size(), 1U);
    EXPECT_EQ(ring.rounds[0].times, 7U);
    // A root sends one message at a time.
    const traffic linear = traffic_of_algorithm("bcast/linear", 5);
    ASSERT_EQ(linear.rounds.size(), 4U);
    EXPECT_EQ(linear.rounds[2].messages, (std::vector<message>{{0, 3, 100}}));
}

TEST(named_pattern, has_neighbours_in_several_dimensions) {
    EXPECT_EQ(named_pattern("neighbours:3", 64)->rounds[0].messages.size(), 64U * 6);
    EXPECT_EQ(named_pattern("neighbours:6", 64)->rounds[0].messages.size(), 64U * 6);  // two in each: one neighbour
    EXPECT_EQ(named_pattern("neighbours:2", 7)->rounds[0].messages.size(), 7U * 2);
    EXPECT_EQ(sent_at_once(*named_pattern("neighbours:3", 27)), 6U);
    EXPECT_EQ(named_pattern("tree", 16)->rounds.size(), 4U);
    EXPECT_EQ(named_pattern("tree", 5)->rounds.back().messages.size(), 1U);
    EXPECT_TRUE(named_pattern("ring", 1)->rounds.empty());
    EXPECT_FALSE(named_pattern("star", 4).has_value());
    EXPECT_NE(error_text([] { named_pattern("neighbours:7", 4); }), "no error");
}

TEST(congestion, counts_bytes_on_the_busiest_channel) {
    const network net = parse_network("fattree:crossbar=4,ports=4,oversubscription=1:1");
    traffic t{4, {}};
    t.add({{{0, 2, 100}, {1, 2, 50}}, 3});
    const std::vector<round_congestion> found = congestion_by_round(route(net, "modulo"), t, linear_mapping(4, 4));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].busiest, 150);
    EXPECT_EQ(total(found), (metrics{3 * 2, 3 * 4, 3 * 8}));
}

TEST(congestion, of_ranks_on_one_endpoint_is_none) {
    const network net = parse_network("crossbar:ports=2");
    const mapping where = linear_mapping(4, 2);
    EXPECT_EQ(where, (mapping{0, 0, 1, 1}));
    traffic t{4, {}};
    t.add({{{0, 1, 100}}, 1});
    EXPECT_EQ(total(congestion_by_round(route(net), t, where)), metrics{});
}

TEST(share, of_neighbours_on_their_own_torus_is_full) {
    const network net = parse_network("torus:4x4x4");
    const traffic t = *named_pattern("neighbours:3", 64);
    const share found = share_of(congestion_by_round(route(net), t, linear_mapping(64, 64)), sent_at_once(t));
    EXPECT_EQ(found.upper, 1);
    EXPECT_EQ(found.lower, 1);
}

}  // namespace
}  // namespace rubato::simulator
