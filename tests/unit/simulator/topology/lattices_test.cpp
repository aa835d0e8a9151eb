#include "support/error_text.hpp"
#include "support/networks.hpp"

#include <gtest/gtest.h>

namespace rubato::simulator {
namespace {

using degrees = std::map<std::size_t, std::size_t>;

TEST(lattices, torus_has_two_neighbours_per_dimension) {
    EXPECT_EQ(switch_degrees(parse_network("torus:4x3x5")), (degrees{{6, 60}}));
    EXPECT_EQ(switch_degrees(parse_network("torus:4x2")), (degrees{{3, 8}}));  // one cable where there are two
    EXPECT_EQ(switch_degrees(parse_network("torus:1x3")), (degrees{{2, 3}}));
    EXPECT_EQ(parse_network("torus:3x3,hosts=4").endpoints(), 36U);
}

TEST(lattices, mesh_ends_at_its_borders) {
    EXPECT_EQ(switch_degrees(parse_network("mesh:4x3")), (degrees{{2, 4}, {3, 6}, {4, 2}}));
}

TEST(lattices, hypercube_has_a_neighbour_per_bit) {
    const network net = parse_network("hypercube:dimensions=5");
    EXPECT_EQ(switch_degrees(net), (degrees{{5, 32}}));
    for (const cable& c : net.cables())
        if (c.a >= net.endpoints()) {
            EXPECT_TRUE(is_power_of_two((c.a - net.endpoints()) ^ (c.b - net.endpoints())));
        }
}

TEST(lattices, refuse_wrong_sizes) {
    for (const char* text : {"torus:", "torus:4x", "torus:0x3", "mesh:axb", "torus:4x4,ports=2", "torus:9999x9999"})
        EXPECT_NE(error_text([text] { parse_network(text); }), "no error") << text;
}

}  // namespace
}  // namespace rubato::simulator
