#include "simulator/topology/generators.hpp"
#include "simulator/topology/routing.hpp"
#include "support/error_text.hpp"
#include "support/networks.hpp"

#include <gtest/gtest.h>

namespace rubato::simulator {
namespace {

const std::string two_switches =
    "vendid=0x0\n"
    "Switch\t8 \"S-0000000000200001\"\t\t# \"right\" base port 0 lid 3 lmc 0\n"
    "[1]\t\"H-0000000000100004\"[1](100005) \t\t# \"c mlx4_0\" lid 13 4xSDR\n"
    "[5]\t\"S-0000000000200000\"[5]\t\t# \"left\" lid 2 4xSDR\n"
    "[6]\t\"S-0000000000200000\"[6]\t\t# \"left\" lid 2 4xSDR\n"
    "Switch\t8 \"S-0000000000200000\"\t\t# \"left\" base port 0 lid 2 lmc 0\n"
    "[1]\t\"H-0000000000100000\"[1](100001) \t\t# \"a mlx4_0\" lid 11 4xSDR\n"
    "[2]\t\"H-0000000000100000\"[2](100002) \t\t# \"a mlx4_0\" lid 12 4xSDR\n"
    "[5]\t\"S-0000000000200001\"[5]\t\t# \"right\" lid 3 4xSDR\n"
    "[6]\t\"S-0000000000200001\"[6]\t\t# \"right\" lid 3 4xSDR\n"
    "Ca\t1 \"H-0000000000100004\"\t\t# \"c mlx4_0\"\n"
    "[1](100005) \t\"S-0000000000200001\"[1]\t\t# lid 13 lmc 0 \"right\" lid 3 4xSDR\n"
    "Ca\t2 \"H-0000000000100000\"\t\t# \"a mlx4_0\"\n"
    "[1](100001) \t\"S-0000000000200000\"[1]\t\t# lid 11 lmc 0 \"left\" lid 2 4xSDR\n"
    "[2](100002) \t\"S-0000000000200000\"[2]\t\t# lid 12 lmc 0 \"left\" lid 2 4xSDR\n";

const std::string tables =
    "Unicast lids [0x0-0xd] of switch Lid 3 guid 0x0000000000200001 (right):\n"
    "  Lid  Out   Destination\n"
    "       Port     Info\n"
    "0x0002 005 : (Switch portguid 0x0000000000200000: 'left')\n"
    "0x0003 000 : (Switch portguid 0x0000000000200001: 'right')\n"
    "0x000b 005 : (Channel Adapter portguid 0x0000000000100001: 'a')\n"
    "0x000c 006 : (Channel Adapter portguid 0x0000000000100002: 'a')\n"
    "0x000d 001 : (Channel Adapter portguid 0x0000000000100005: 'c')\n"
    "5 valid lids dumped\n"
    "Unicast lids [0x0-0xd] of switch Lid 2 guid 0x0000000000200000 (left):\n"
    "0x000b 001 : (Channel Adapter portguid 0x0000000000100001: 'a')\n"
    "0x000c 002 : (Channel Adapter portguid 0x0000000000100002: 'a')\n"
    "0x000d 006 : (Channel Adapter portguid 0x0000000000100005: 'c')\n";

TEST(ib_file, ports_of_adapters_are_endpoints) {
    const network net = read_as_file(two_switches);
    ASSERT_EQ(net.endpoints(), 3U);
    EXPECT_EQ(net.switches(), 2U);
    EXPECT_EQ(net.cables().size(), 5U);
    EXPECT_EQ(net.name_of(0), "a/1");
    EXPECT_EQ(net.name_of(1), "a/2");
    EXPECT_EQ(net.name_of(2), "c");
    EXPECT_EQ(net.name_of(net.switch_of(2)), "right");
    EXPECT_TRUE(net.tables.empty());
}

TEST(ib_file, forwarding_tables_may_follow) {
    const network net = read_as_file(two_switches + tables);
    const routes r = route(net);
    EXPECT_EQ(r.name(), "given");
    const auto between = [&](vertex from, vertex to) {
        std::vector<channel> path;
        r.along(from, to, [&](channel c) { path.push_back(c); });
        return path;
    };
    ASSERT_EQ(between(2, 0).size(), 3U);
    EXPECT_NE(between(2, 0)[1] / 2, between(2, 1)[1] / 2);
    EXPECT_EQ(between(0, 2)[1] / 2, between(2, 1)[1] / 2);
    EXPECT_EQ(between(0, 1).size(), 2U);
}

TEST(ib_file, errors_name_the_place) {
    const auto said = [](const std::string& content) { return error_text([&] { route(read_as_file(content)); }); };
    EXPECT_NE(said("Switch\t8\n").find("line 1"), std::string::npos);
    EXPECT_NE(said(two_switches + "[1]\n").find("line 16"), std::string::npos);
    EXPECT_NE(said("[1] \"S-1\"[2]\n").find("line 1"), std::string::npos);
    EXPECT_NE(said("0x0001 005 : x\n").find("line 1"), std::string::npos);
    EXPECT_NE(said("nothing\n").find("line 1"), std::string::npos);
    EXPECT_NE(said(two_switches + "Unicast lids of switch guid 0x5 (x)\n0x000b 001 : (x)\n").find("line 17"),
              std::string::npos);
    EXPECT_NE(
        said(two_switches + "Unicast lids of switch guid 0x0000000000200000 (x)\n0x000b 003 : (x)\n").find("port 3"),
        std::string::npos);
    EXPECT_NE(said(two_switches + tables.substr(0, tables.find("5 valid"))).find("do not arrive"), std::string::npos);
    EXPECT_NE(said("Switch\t8 \"S-1\"\n[1] \"H-2\"[1]\n").find("not listed"), std::string::npos);
    EXPECT_NE(said(two_switches + "Ca 1 \"H-9\"\n[1] \"S-0000000000200000\"[1]\n").find("two cables"),
              std::string::npos);
}

}  // namespace
}  // namespace rubato::simulator
