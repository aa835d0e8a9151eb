// rubato remap.
#include "command.hpp"

namespace rubato {
namespace {

using nlohmann::json;
using remap = command;

TEST_F(remap, lowers_congestion) {
    const json found = good_json("remap fattree:crossbar=8,ports=16 dissemination --routing modulo --json");
    EXPECT_EQ(found["before"], (json{{"largest", 7}, {"connections", 104}, {"cables", 216}}));
    EXPECT_LE(found["after"]["connections"], 84);
    std::vector<int> where = found["mapping"];
    std::ranges::sort(where);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(where[std::size_t(i)], i);
}

TEST_F(remap, writes_files_for_mpirun) {
    write("hosts", "a slots=1\nb\nc\nd\n");
    good(fmt::format("remap crossbar:ports=4 ring --ranks 3 --hosts {} --rankfile {} --machinefile {}", path("hosts"),
                     path("ranks"), path("machines")));
    EXPECT_EQ(slurp(path("ranks")), "rank 0=a slot=0\nrank 1=b slot=0\nrank 2=c slot=0\n");
    EXPECT_EQ(slurp(path("machines")), "a:1\nb:1\nc:1\n");
    write("start", "2 0\n1\n");
    EXPECT_EQ(
        good_json(fmt::format("remap crossbar:ports=4 ring --ranks 3 --start {} --json", path("start")))["mapping"],
        (json{2, 0, 1}));
}

TEST_F(remap, knows_the_names_of_an_infiniband_network) {
    const std::string folder = RUBATO_SOURCE "/tests/cli/ibsim/";
    good(fmt::format("remap file:{0}net.txt,tables={0}tables.txt dissemination --ranks 4 --rankfile {1}", folder,
                     path("ranks")));
    EXPECT_NE(slurp(path("ranks")).find("=node3 slot=0"), std::string::npos);
}

TEST_F(remap, refuses_with_one_line) {
    for (const char* line :
         {"remap crossbar:ports=4", "remap crossbar:ports=4 nothing", "remap crossbar:ports=4 reduce",
          "remap crossbar:ports=4 ring --metric x", "remap crossbar:ports=4 ring --search x",
          "remap crossbar:ports=4 ring --start random:x", "remap crossbar:ports=4 ring --start /nowhere",
          "remap crossbar:ports=4 ring --search genetic --steps 4", "remap crossbar:ports=4 file:/nowhere"}) {
        const outcome result = rubato(line);
        EXPECT_EQ(result.status, 2) << line;
        EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << line << '\n' << result.err;
    }
}

}  // namespace
}  // namespace rubato
