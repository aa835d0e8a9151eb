#include "simulator/topology/remap.hpp"

#include "base/core/splitmix.hpp"
#include "support/networks.hpp"

#include <gtest/gtest.h>

namespace rubato::simulator {
namespace {

// Hoefler 2008, Figure II.18 and II.6.1: 16 nodes, crossbars of 8 ports, the pattern of Bruck's algorithm.
class small_tree : public testing::Test {
protected:
    network net_ = parse_network("fattree:crossbar=8,ports=16,oversubscription=1:1,depth=1");
    routes routes_ = route(net_, "modulo");
    traffic bruck_ = *named_pattern("dissemination", 16);

    metrics of(const mapping& where) const { return total(congestion_by_round(routes_, bruck_, where)); }
};

TEST_F(small_tree, has_the_congestion_of_the_source) {
    EXPECT_EQ(of(linear_mapping(16, 16)), (metrics{7, 104, 216}));
    mapping printed{15, 2, 12, 5, 16, 6, 11, 9, 14, 3, 10, 8, 13, 4, 1, 7};  // for the first metric
    for (vertex& v : printed) --v;
    EXPECT_EQ(of(printed).largest, 6U);
    EXPECT_EQ(of(printed).cables, 210U);  // the source says 204
    mapping second{16, 6, 3, 11, 1, 9, 2, 8, 14, 7, 13, 10, 15, 12, 4, 5};
    for (vertex& v : second) --v;
    EXPECT_EQ(of(second).connections, 92U);
}

TEST_F(small_tree, local_search_finds_more_than_the_source) {
    const mapping start = linear_mapping(16, 16);
    EXPECT_LE(of(anneal(routes_, bruck_, start, aim::largest, 20000, 1)).largest, 6U);
    EXPECT_LE(of(anneal(routes_, bruck_, start, aim::connections, 20000, 1)).connections, 84U);
    EXPECT_LE(of(anneal(routes_, bruck_, start, aim::cables, 20000, 1)).cables, 192U);
}

TEST_F(small_tree, the_genetic_algorithm_finds_a_mapping) {
    const mapping found = evolve(routes_, bruck_, linear_mapping(16, 16), aim::connections, 1);
    mapping sorted = found;
    std::ranges::sort(sorted);
    EXPECT_EQ(sorted, linear_mapping(16, 16));
    EXPECT_LT(of(found).connections, of(random_mapping(16, 16, 1, 0)).connections);
}

TEST(placement, keeps_its_metrics_up_to_date) {
    for (const char* text :
         {"fattree:crossbar=8,ports=16", "torus:3x4,hosts=2", "dragonfly:routers=3,hosts=2,global=1"})
        for (const char* pattern : {"dissemination", "neighbours:2", "tree", "ring"})
            for (const std::uint32_t ranks : {2U, 11U, 40U}) {
                const network net = parse_network(text);
                const routes r = route(net);
                const traffic t = *named_pattern(pattern, ranks);
                placement p(r, t, linear_mapping(ranks, net.endpoints()));
                base::splitmix random(7);
                for (int i = 0; i < 30; ++i) {
                    p.swap(std::uint32_t(random.below(ranks)), std::uint32_t(random.below(ranks)));
                    ASSERT_EQ(p.sums(), total(congestion_by_round(r, t, p.where()))) << text << ' ' << pattern;
                }
            }
}

TEST(anneal, is_never_worse_than_the_start) {
    const network net = parse_network("torus:4x4");
    const routes r = route(net);
    const traffic t = *named_pattern("neighbours:2", 16);
    const mapping best = linear_mapping(16, 16);  // nothing is better
    const metrics before = total(congestion_by_round(r, t, best));
    EXPECT_EQ(total(congestion_by_round(r, t, anneal(r, t, best, aim::connections, 2000, 1))), before);
    const mapping shuffled = random_mapping(16, 16, 1, 0);
    const metrics worse = total(congestion_by_round(r, t, shuffled));
    EXPECT_GT(worse.connections, before.connections);
    EXPECT_LT(total(congestion_by_round(r, t, anneal(r, t, shuffled, aim::connections, 20000, 1))).connections,
              worse.connections);
}

TEST(rankfile, numbers_the_slots_of_each_host) {
    const std::vector<std::string> hosts{"a", "b"};
    EXPECT_EQ(rankfile({1, 0, 1}, hosts), "rank 0=b slot=0\nrank 1=a slot=0\nrank 2=b slot=1\n");
    EXPECT_EQ(machine_file({1, 0, 1}, hosts), "b:1\na:1\nb:1\n");
}

}  // namespace
}  // namespace rubato::simulator
