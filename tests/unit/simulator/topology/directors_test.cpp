#include "support/error_text.hpp"
#include "support/networks.hpp"

#include <gtest/gtest.h>

namespace rubato::simulator {
namespace {

// CHiC: 44 leaves of 24 ports, two switches of 288 ports made of 24 + 12 crossbars each.
TEST(directors, are_clos_networks_above_leaves) {
    const network net = parse_network("directors:crossbar=24,ports=528,oversubscription=1:1,count=2");
    EXPECT_EQ(net.endpoints(), 528U);
    EXPECT_EQ(net.switches(), 44U + 2 * 36U);
    EXPECT_EQ(net.cables().size(), 528U + 528U + 2 * 288U);
    for (vertex leaf = net.endpoints(); leaf < net.endpoints() + 44; ++leaf) EXPECT_EQ(net.out(leaf).size(), 24U);
}

TEST(directors, take_no_more_cables_than_they_have_ports) {
    EXPECT_NE(error_text([] { parse_network("directors:crossbar=24,ports=528,count=1"); }).find("cannot take them"),
              std::string::npos);
}

}  // namespace
}  // namespace rubato::simulator
