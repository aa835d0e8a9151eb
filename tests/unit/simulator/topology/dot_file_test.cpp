#include "simulator/topology/generators.hpp"
#include "simulator/topology/routing.hpp"
#include "support/error_text.hpp"
#include "support/networks.hpp"

#include <gtest/gtest.h>

namespace rubato::simulator {
namespace {

TEST(dot_file, vertices_with_one_cable_are_endpoints) {
    const network net = read_as_file(
        "graph \"two switches\" {\n"
        "  rankdir=LR; node [shape=box, style=\"a,b\"];\n"
        "  a -- s1 -- s2:port1 -- b  // a chain\n"
        "  c -- s1; /* a second\n cable */ s1 -- s2 [label=\"x -- y\"]\n"
        "# d -- s1\n"
        "}\n");
    ASSERT_EQ(net.endpoints(), 3U);
    EXPECT_EQ(net.switches(), 2U);
    EXPECT_EQ(net.cables().size(), 5U);
    EXPECT_EQ(net.name_of(0), "a");
    EXPECT_EQ(net.name_of(1), "b");
    EXPECT_EQ(net.name_of(net.switch_of(2)), "s1");
}

TEST(dot_file, comments_of_directed_edges_are_forwarding_tables) {
    const network net = read_as_file(
        "digraph {\n"
        "  a -> s; s -> a; b -> t; t -> b; c -> t; t -> c;\n"
        "  s -> t [comment=\"b\"]; t -> s [comment=\"*\"];\n"
        "  s -> t [comment=\"c\"]; t -> s;\n"
        "}\n");
    ASSERT_EQ(net.endpoints(), 3U);
    EXPECT_EQ(net.cables().size(), 5U);
    const routes r = route(net);
    EXPECT_EQ(r.name(), "given");
    std::vector<channel> to_b;
    std::vector<channel> to_c;
    r.along(0, 1, [&](channel c) { to_b.push_back(c); });
    r.along(0, 2, [&](channel c) { to_c.push_back(c); });
    ASSERT_EQ(to_b.size(), 3U);
    EXPECT_NE(to_b[1], to_c[1]);
    EXPECT_EQ(net.name_of(net.head(to_b[1])), "t");
}

TEST(dot_file, errors_name_the_line) {
    const auto said = [](const std::string& content) { return error_text([&] { read_as_file(content); }); };
    EXPECT_NE(said("graph {\n a -> b\n}").find("line 2"), std::string::npos);
    EXPECT_NE(said("graph {\n a -- b\n").find("line 3"), std::string::npos);
    EXPECT_NE(said("graph {\n a -- \"b\n").find("quoted"), std::string::npos);
    EXPECT_NE(said("graph {\n a -- a }").find("line 2"), std::string::npos);
    EXPECT_NE(said("graph {\n subgraph x { a -- b } }").find("line 2"), std::string::npos);
    EXPECT_NE(said("digraph {\n a -> s; b -> s; s -> t [comment=\"x\"]; c -> t }").find("'x'"), std::string::npos);
    EXPECT_NE(said("graph { a -- b; b -- c; c -- a }").find("no endpoint"), std::string::npos);
    EXPECT_NE(said("graph { a -- s; b -- s; c -- t; d -- t; t -- u; t -- u }").find("no cable leads"),
              std::string::npos);
    EXPECT_NE(said("graph { a -- b }").find("to a switch"), std::string::npos);
    EXPECT_NE(said("graph").find("braces"), std::string::npos);
}

}  // namespace
}  // namespace rubato::simulator
