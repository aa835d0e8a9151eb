#include "support/error_text.hpp"
#include "support/networks.hpp"

#include <gtest/gtest.h>

namespace rubato::simulator {
namespace {

TEST(parse_network, makes_connected_networks) {
    for (const std::string& text : networks_to_try()) {
        const network net = parse_network(text);
        EXPECT_EQ(net.name(), text);
        const std::vector<std::uint32_t> hops = hops_to(net, net.switch_of(0));
        for (vertex v = net.endpoints(); v < net.vertices(); ++v) EXPECT_LT(hops[v], net.switches()) << text;
        std::size_t ends = 0;
        for (vertex v = 0; v < net.vertices(); ++v) {
            ends += net.out(v).size();
            for (const channel c : net.out(v)) {
                EXPECT_EQ(net.tail(c), v);
                EXPECT_EQ(net.head(c ^ 1U), v);
            }
        }
        EXPECT_EQ(ends, net.channels());
    }
}

TEST(parse_network, reads_a_crossbar) {
    const network net = parse_network("crossbar:ports=16");
    EXPECT_EQ(net.endpoints(), 16U);
    EXPECT_EQ(net.switches(), 1U);
    EXPECT_EQ(net.cables().size(), 16U);
}

TEST(parse_network, names_what_is_wrong_in_one_line) {
    for (const char* text :
         {"", "nothing", "crossbar", "crossbar:", "crossbar:ports", "crossbar:ports=", "crossbar:ports=0",
          "crossbar:ports=x", "crossbar:ports=4,ports=5", "crossbar:size=4", "fattree", "tree:k=2",
          "hypercube:dimensions=-1", "dragonfly:", "file:", "file:/does/not/exist", "Torus:4x4"}) {
        const std::string said = error_text([text] { parse_network(text); });
        EXPECT_NE(said, "no error") << text;
        EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    }
}

}  // namespace
}  // namespace rubato::simulator
