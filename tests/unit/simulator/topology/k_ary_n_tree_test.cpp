#include "support/error_text.hpp"
#include "support/networks.hpp"

#include <gtest/gtest.h>

namespace rubato::simulator {
namespace {

TEST(k_ary_n_tree, has_k_cables_down_and_up_at_every_switch) {
    const network net = parse_network("tree:k=3,n=3");
    EXPECT_EQ(net.endpoints(), 27U);
    EXPECT_EQ(net.switches(), 27U);
    EXPECT_EQ(switch_degrees(net), (std::map<std::size_t, std::size_t>{{3, 18}, {6, 9}}));
    // Every switch at the top is as near to every leaf.
    const std::vector<std::uint32_t> hops = hops_to(net, net.vertices() - 1);
    for (vertex e = 0; e < net.endpoints(); ++e) EXPECT_EQ(hops[net.switch_of(e)], 2U);
}

TEST(k_ary_n_tree, refuses_millions_of_endpoints) {
    EXPECT_NE(error_text([] { parse_network("tree:k=1000,n=3"); }).find("1000^3 endpoints"), std::string::npos);
}

}  // namespace
}  // namespace rubato::simulator
