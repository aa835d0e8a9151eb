// rubato topo, and rubato sim on a network.
#include "command.hpp"

namespace rubato {
namespace {

using nlohmann::json;
using topo = command;

TEST_F(topo, prints_what_the_source_prints) {
    const json found = good_json(
        "topo fattree:crossbar=24,ports=432,oversubscription=1:3,depth=1 --patterns 200 --seed 3 "
        "--routing modulo --json");
    EXPECT_EQ(found["endpoints"], 432);
    EXPECT_EQ(found["switches"], 30);
    EXPECT_EQ(found["cables"], 576);
    EXPECT_NEAR(found["effective_bisection_bandwidth"], 0.455, 0.00455);
    EXPECT_LT(found["interval"][0], found["effective_bisection_bandwidth"]);
    EXPECT_GT(found["interval"][1], found["effective_bisection_bandwidth"]);
    EXPECT_EQ(found["forwarding_index"], (json{{"mean", 1242.}, {"sd", 0.}, {"min", 1242}, {"max", 1242}}));
    EXPECT_EQ(found["deadlock_free"], true);
}

TEST_F(topo, depends_on_the_seed_alone) {
    const std::string line = "topo torus:4x4 --patterns 20 --json --seed ";
    EXPECT_EQ(good(line + "1"), good(line + "1"));
    EXPECT_NE(good(line + "1"), good(line + "2"));
    EXPECT_EQ(good_json("topo torus:5x5 --patterns 20 --json")["deadlock_free"], false);
}

TEST_F(topo, compares_algorithms_on_a_network) {
    const json found = good_json(
        "topo fattree:crossbar=8,ports=16 --patterns 5 --congestion allreduce --congestion tree "
        "--bytes 1MiB --rounds --json")["congestion"];
    EXPECT_GT(found.size(), 10U);
    double before = 0;
    for (const json& row : found) {
        if (row.contains("skipped")) continue;
        EXPECT_GE(row["time_ns"], before);
        before = row["time_ns"];
        EXPECT_GE(row["connections"], row["largest"]);
        double largest = 0;
        for (const json& r : row["by_round"]) largest += r["times"].get<double>() * r["largest"].get<double>();
        EXPECT_EQ(row["largest"], largest);
    }
    EXPECT_NE(
        good("topo fattree:crossbar=8,ports=16 --patterns 5 --congestion bcast --mappings 3").find("bcast/binomial"),
        std::string::npos);
}

TEST_F(topo, tells_what_applications_lose) {
    const json found = good_json("topo crossbar:ports=64 --patterns 5 --mix neighbours:3=27.4,tree=4.6 --json")["mix"];
    EXPECT_NEAR(found["remaining_percent"], 100, 1e-9);
    const json slow =
        good_json("topo fattree:crossbar=8,ports=48,oversubscription=1:3 --mix neighbours:3=27.4 --json")["mix"];
    EXPECT_LT(slow["remaining_percent"], 95);
}

// Made by ibsim, opensm, ibnetdiscover and dump_fts: the network of Hoefler 2008, Figure II.18.
TEST_F(topo, reads_an_infiniband_network) {
    const std::string folder = RUBATO_SOURCE "/tests/cli/ibsim/";
    const std::string file = "file:" + folder + "net.txt,tables=" + folder + "tables.txt";
    const json found = good_json("topo " + file + " --json");
    EXPECT_EQ(found["endpoints"], 16);
    EXPECT_EQ(found["switches"], 6);
    EXPECT_EQ(found["cables"], 32);
    EXPECT_EQ(found["routing"], "given");
    EXPECT_EQ(found["deadlock_free"], true);
    EXPECT_GT(found["effective_bisection_bandwidth"], 0.5);
    const json without = good_json("topo file:" + folder + "net.txt --json");
    EXPECT_EQ(without["routing"], "balanced");
}

TEST_F(topo, draws) {
    good("topo tree:k=2,n=3 --patterns 5 --svg " + path("tree.svg"));
    EXPECT_NE(slurp(path("tree.svg")).find("</svg>"), std::string::npos);
    good("topo hypercube:dimensions=3 --patterns 5 --svg " + path("cube.svg"));
    EXPECT_NE(slurp(path("cube.svg")).find("<circle"), std::string::npos);
}

TEST_F(topo, refuses_with_one_line) {
    for (const char* line : {"topo", "topo nothing", "topo torus:0", "topo file:/nowhere",
                             "topo crossbar:ports=4 --patterns 0", "topo crossbar:ports=4 --routing x",
                             "topo crossbar:ports=4 --bytes 4", "topo crossbar:ports=4 --congestion x",
                             "topo crossbar:ports=4 --mix tree", "topo crossbar:ports=4 --mix tree=101",
                             "topo crossbar:ports=4 --mix star=1", "topo crossbar:ports=65000 --svg /dev/null"}) {
        const outcome result = rubato(line);
        EXPECT_EQ(result.status, 2) << line;
        EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << line << '\n' << result.err;
    }
}

TEST_F(topo, sim_shares_cables) {
    const auto time = [this](const char* network) {
        return good_json(
                   fmt::format("sim alltoall/pairwise --ranks 8 --bytes 1MiB {} --json", network))[0]["run_time_ns"]
            .get<double>();
    };
    const double alone = time("");
    EXPECT_NEAR(time("--network crossbar:ports=8"), alone, 0.01 * alone);
    EXPECT_GT(time("--network fattree:crossbar=5,ports=8,oversubscription=1:4"), 2 * alone);
    EXPECT_GT(time("--network crossbar:ports=4 --hosts 4"), 1.2 * alone);
    for (const char* line :
         {"sim reduce --ranks 4 --bytes 1 --network x", "sim reduce --ranks 4 --bytes 1 --routing updown",
          "sim reduce/ring --ranks 4 --bytes 1 --network crossbar:ports=2 --hosts 4",
          "sim reduce/ring --ranks 4 --bytes 1 --network crossbar:ports=4 --slow rank=1,factor=2"})
        EXPECT_EQ(rubato(line).status, 2) << line;
    for (const char* model : {"loggops:L=1us,o=1us,g=1us,G=1ns", "logfgp:L=1us,omin=1us,omax=2us,g=1us,G=1ns,f=2",
                              "loggp5:L=1us,o=1us,G=1ns"})
        for (const char* what : {"sim reduce/ring", "choose reduce"})
            EXPECT_EQ(
                rubato(fmt::format("{} --ranks 4 --bytes 1KiB --network crossbar:ports=4 --model {}", what, model))
                    .status,
                0)
                << what << ' ' << model;
}

}  // namespace
}  // namespace rubato
