#include "simulator/topology/routing.hpp"

#include "support/error_text.hpp"
#include "support/networks.hpp"

#include <gtest/gtest.h>

namespace rubato::simulator {
namespace {

bool is_grid(const std::string& text) {
    return text.starts_with("torus") || text.starts_with("mesh") || text.starts_with("hypercube");
}

TEST(routing, every_route_ends_where_it_should) {
    for (const std::string& text : networks_to_try()) {
        const network net = parse_network(text);
        for (const method& m : methods()) {
            if (m.name == "given" || (m.name == "dimension" && !is_grid(text))) continue;
            const routes r = route(net, m.name);
            for (vertex to = 0; to < net.endpoints(); ++to) {
                const std::vector<std::uint32_t> hops = hops_to(net, net.switch_of(to));
                for (vertex from = 0; from < net.endpoints(); ++from) {
                    vertex at = from;
                    std::size_t channels = 0;
                    r.along(from, to, [&](channel c) {
                        ASSERT_EQ(net.tail(c), at);
                        at = net.head(c);
                        ++channels;
                    });
                    ASSERT_EQ(at, to) << text << ' ' << m.name;
                    if (from != to && m.name != "updown") {  // the others take shortest ways
                        ASSERT_EQ(channels, hops[net.switch_of(from)] + 2) << text << ' ' << m.name;
                    }
                }
            }
        }
    }
}

TEST(routing, up_down_never_deadlocks) {
    for (const std::string& text : networks_to_try()) {
        const network net = parse_network(text);
        EXPECT_TRUE(find_deadlock(route(net, "updown")).empty()) << text;
    }
}

TEST(routing, finds_channels_that_wait_for_each_other) {
    for (const char* text : {"mesh:4x4", "hypercube:dimensions=4"})
        EXPECT_TRUE(find_deadlock(route(parse_network(text), "dimension")).empty()) << text;
    const network ring = parse_network("torus:5");
    const std::vector<channel> circle = find_deadlock(route(ring, "dimension"));
    ASSERT_EQ(circle.size(), 5U);
    for (std::size_t i = 0; i < circle.size(); ++i)
        EXPECT_EQ(ring.head(circle[i]), ring.tail(circle[(i + 1) % circle.size()]));
}

TEST(routing, trees_do_not_deadlock) {
    for (const char* text : {"tree:k=3,n=3", "fattree:crossbar=8,ports=20", "directors:crossbar=8,ports=48,count=2"})
        for (const char* how : {"modulo", "balanced"})
            EXPECT_TRUE(find_deadlock(route(parse_network(text), how)).empty()) << text << ' ' << how;
}

TEST(routing, is_chosen_by_what_the_network_has) {
    EXPECT_EQ(route(parse_network("torus:4x4")).name(), "dimension");
    EXPECT_EQ(route(parse_network("tree:k=2,n=2")).name(), "balanced");
}

TEST(routing, refuses_what_does_not_suit_the_network) {
    const network net = parse_network("tree:k=2,n=2");
    EXPECT_NE(error_text([&] { route(net, "dimension"); }).find("no dimensions"), std::string::npos);
    EXPECT_NE(error_text([&] { route(net, "given"); }).find("no forwarding tables"), std::string::npos);
    EXPECT_NE(error_text([&] { route(net, "adaptive"); }).find("known are"), std::string::npos);
}

TEST(routing, refuses_tables_whose_messages_go_in_circles) {
    const network net = parse_network("torus:4");
    const routes good = route(net);
    std::vector<port> tables;
    for (vertex to = 0; to < 4; ++to) tables.insert(tables.end(), good.row(to).begin(), good.row(to).end());
    // Switch 1 sends what is for endpoint 3 back to switch 0, from where it came.
    tables[3 * 4 + 1] = net.port_to(net.endpoints() + 1, net.endpoints() + 0);
    tables[3 * 4 + 0] = net.port_to(net.endpoints() + 0, net.endpoints() + 1);
    EXPECT_NE(error_text([&] { routes(net, "given", tables); }).find("do not arrive"), std::string::npos);
}

}  // namespace
}  // namespace rubato::simulator
