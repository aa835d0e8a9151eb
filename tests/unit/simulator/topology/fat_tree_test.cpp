#include "support/networks.hpp"

#include "support/error_text.hpp"

#include <gtest/gtest.h>

namespace rubato::simulator {
namespace {

using degrees = std::map<std::size_t, std::size_t>;

struct printed_row {
    const char* text;
    double switches_per_port;
    double cables_per_port;
};

// Rows of Figure II.24 of Hoefler 2008: what it prints of their size shows that they are built alike.
TEST(fat_tree, has_the_switches_and_cables_of_the_source) {
    for (const printed_row& row : {printed_row{"crossbar=32,ports=512,oversubscription=1:1,depth=1", 0.093, 2.0},
                                   {"crossbar=32,ports=672,oversubscription=11:21,depth=1", 0.063, 1.52},
                                   {"crossbar=24,ports=432,oversubscription=1:3,depth=1", 0.069, 1.33},
                                   {"crossbar=8,ports=512,oversubscription=1:1,depth=2", 1.125, 5.0},
                                   {"crossbar=8,ports=520,oversubscription=3:5,depth=2", 0.825, 3.8},
                                   {"crossbar=8,ports=528,oversubscription=1:3,depth=2", 0.625, 3.0},
                                   {"crossbar=16,ports=3072,oversubscription=1:3,depth=2", 0.3125, 3.0},
                                   {"crossbar=8,ports=3200,oversubscription=3:5,depth=3", 2.475, 10.4}}) {
        const network net = parse_network(std::string("fattree:") + row.text);
        EXPECT_NEAR(double(net.switches()) / net.endpoints(), row.switches_per_port, 1e-3) << row.text;
        EXPECT_NEAR(double(net.cables().size()) / net.endpoints(), row.cables_per_port, 1e-2) << row.text;
    }
}

TEST(fat_tree, of_depth_one_joins_every_leaf_with_every_top) {
    const network net = parse_network("fattree:crossbar=8,ports=16");
    EXPECT_EQ(net.endpoints(), 16U);
    EXPECT_EQ(switch_degrees(net), (degrees{{4, 4}, {8, 2}}));
    const network full = parse_network("fattree:crossbar=8,ports=48,oversubscription=1:3");
    EXPECT_EQ(switch_degrees(full), (degrees{{2, 8}, {8, 2}}));
}

TEST(fat_tree, may_have_a_leaf_that_is_not_full) {
    const network net = parse_network("fattree:crossbar=8,ports=9");
    EXPECT_EQ(net.endpoints(), 9U);
    EXPECT_EQ(net.switches(), 3U + 2U);
    EXPECT_EQ(net.switch_of(7), net.switch_of(4));
    EXPECT_NE(net.switch_of(8), net.switch_of(7));
}

TEST(fat_tree, refuses_what_cannot_be_built) {
    const auto text = [](const char* rest) {
        return error_text([rest] { parse_network(std::string("fattree:") + rest); });
    };
    EXPECT_NE(text("crossbar=8,ports=33").find("up to 32"), std::string::npos);
    EXPECT_NE(text("crossbar=8,ports=16,oversubscription=1:2").find("cannot be split 1:2"), std::string::npos);
    EXPECT_NE(text("crossbar=8,ports=16,oversubscription=1").find("a ratio"), std::string::npos);
    EXPECT_NE(text("crossbar=8").find("lacks the parameter 'ports'"), std::string::npos);
    EXPECT_NE(text("crossbar=8,ports=16,depth=0").find("depth"), std::string::npos);
    EXPECT_NE(text("crossbar=4096,ports=16,depth=8").find("too deep"), std::string::npos);
}

}  // namespace
}  // namespace rubato::simulator
