#include "simulator/topology/congestion.hpp"
#include "simulator/topology/generators.hpp"

#include <gtest/gtest.h>

namespace rubato::simulator {
namespace {

/// How often a ring of ranks in this order goes from one switch to another.
int crossings(const network& net, const mapping& where, const std::vector<std::int32_t>& places) {
    std::vector<vertex> line(where.size());
    for (std::size_t r = 0; r < where.size(); ++r) line[static_cast<std::size_t>(places[r])] = net.switch_of(where[r]);
    int count = 0;
    for (std::size_t i = 0; i < line.size(); ++i) count += line[i] != line[(i + 1) % line.size()] ? 1 : 0;
    return count;
}

TEST(order, of_ranks_that_are_where_they_belong_is_theirs) {
    for (const char* text : {"fattree:crossbar=8,ports=32", "tree:k=3,n=3", "crossbar:ports=7"}) {
        const network net = parse_network(text);
        const std::uint32_t ranks = net.endpoints();
        const std::vector<std::int32_t> places = places_of(net, linear_mapping(ranks, ranks));
        for (std::size_t r = 0; r < ranks; ++r) EXPECT_EQ(places[r], static_cast<std::int32_t>(r)) << text;
    }
}

TEST(order, goes_to_every_switch_once) {
    for (const char* text : {"fattree:crossbar=8,ports=32,oversubscription=1:3", "tree:k=4,n=3", "torus:4x4,hosts=3",
                             "dragonfly:groups=5,routers=2,hosts=2,global=2"}) {
        const network net = parse_network(text);
        for (const std::uint32_t ranks : {net.endpoints(), net.endpoints() / 2, 2 * net.endpoints()}) {
            const mapping where = random_mapping(ranks, net.endpoints(), 5, 0);
            std::vector<vertex> switches;
            for (const vertex endpoint : where) switches.push_back(net.switch_of(endpoint));
            const std::int32_t used = std::ranges::max(numbered_hosts(switches)) + 1;
            EXPECT_EQ(crossings(net, where, places_of(net, where)), used) << text;
        }
    }
}

TEST(order, leaves_a_part_of_the_network_once) {
    // Four groups of four switches with four endpoints each: 16 ranks below an upper switch.
    const network net = parse_network("tree:k=4,n=3");
    const mapping where = random_mapping(64, 64, 9, 0);
    std::vector<vertex> line(64);
    const std::vector<std::int32_t> places = places_of(net, where);
    for (std::size_t r = 0; r < 64; ++r) line[static_cast<std::size_t>(places[r])] = where[r] / 16;
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(line[i], line[i / 16 * 16]);
}

TEST(order, near_ranks_are_on_an_endpoint_or_below_a_switch) {
    const network net = parse_network("fattree:crossbar=8,ports=16");
    EXPECT_EQ(groups_of(net, {0, 4, 1, 12}), (std::vector{0, 1, 0, 2}));
    EXPECT_EQ(groups_of(net, {0, 4, 0, 1}), (std::vector{0, 1, 0, 2}));
    EXPECT_TRUE(groups_of(net, {0, 4, 8, 12}).empty());
    EXPECT_TRUE(groups_of(net, {0, 1, 2, 3}).empty());
}

}  // namespace
}  // namespace rubato::simulator
