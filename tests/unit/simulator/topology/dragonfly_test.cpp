#include "support/error_text.hpp"
#include "support/networks.hpp"

#include <gtest/gtest.h>

#include <set>

namespace rubato::simulator {
namespace {

TEST(dragonfly, of_full_size_has_one_cable_between_each_two_groups) {
    const network net = parse_network("dragonfly:routers=4,hosts=2,global=2");  // 9 groups
    EXPECT_EQ(net.endpoints(), 72U);
    EXPECT_EQ(switch_degrees(net), (std::map<std::size_t, std::size_t>{{3 + 2, 36}}));
    std::multiset<std::pair<vertex, vertex>> between;
    for (const cable& c : net.cables()) {
        if (c.a < net.endpoints()) continue;
        const vertex a = (c.a - net.endpoints()) / 4;
        const vertex b = (c.b - net.endpoints()) / 4;
        if (a != b) between.emplace(std::min(a, b), std::max(a, b));
    }
    EXPECT_EQ(between.size(), 9U * 8 / 2);
    EXPECT_EQ(std::set(between.begin(), between.end()).size(), between.size());
}

TEST(dragonfly, with_fewer_groups_has_several_cables_between_them) {
    const network net = parse_network("dragonfly:groups=3,routers=4,hosts=1,global=2");
    EXPECT_EQ(switch_degrees(net), (std::map<std::size_t, std::size_t>{{3 + 2, 12}}));
}

TEST(dragonfly, refuses_more_groups_than_it_has_cables_for) {
    EXPECT_NE(error_text([] { parse_network("dragonfly:groups=10,routers=4,hosts=2,global=2"); }), "no error");
}

}  // namespace
}  // namespace rubato::simulator
