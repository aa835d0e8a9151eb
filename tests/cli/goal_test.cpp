// rubato goal: files that it writes are read as what they were.
#include "command.hpp"

namespace rubato {
namespace {

using nlohmann::json;

class goal_command : public command {};

TEST_F(goal_command, dissemination_takes_what_loggopsim_says) {
    good("goal write barrier/dissemination --ranks 16 -o " + path("d.goal"));
    const json read = good_json("goal read " + path("d.goal") + " --json");
    EXPECT_EQ(read.at("exit_ns"), json(std::vector<int>(16, 22000)));
    EXPECT_EQ(read.at("messages"), 64);
    EXPECT_NE(good("goal read " + path("d.goal")).find("last exit: 22.00 us"), std::string::npos);
    good("goal write barrier/dissemination --ranks 16 --format binary -o " + path("d.bin"));
    EXPECT_EQ(good_json("goal read " + path("d.bin") + " --json").at("exit_ns"), read.at("exit_ns"));
    EXPECT_NE(good_json("goal read " + path("d.goal") + " --json --model gige").at("exit_ns"), read.at("exit_ns"));
}

TEST_F(goal_command, ends_when_sim_says) {
    const std::string model = " --model loggops:L=2us,o=1us,g=1us,G=0.5ns,S=4KiB,combine=0.25ns";
    const std::string problem = " --ranks 13 --bytes 10000 --arrivals uniform:max=30us,seed=4" + model;
    for (const std::string id : {"reduce/binomial", "bcast/binomial", "allgather/ring", "alltoall/pairwise"}) {
        good(fmt::format("goal write {}{} -o {}", id, problem, path("a.goal")));
        const json read = good_json("goal read " + path("a.goal") + " --json" + model);
        EXPECT_EQ(read.at("exit_ns"), good_json(fmt::format("sim {}{} --json", id, problem)).at(0).at("exit_ns")) << id;
    }
    for (const char* slow : {"--slow rank=1,factor=5", "--slow link=0,factor=5", "--hosts 3 --share-links"})
        EXPECT_NE(good_json("goal read " + path("a.goal") + " --json " + slow).at("exit_ns"),
                  good_json("goal read " + path("a.goal") + " --json").at("exit_ns"))
            << slow;
}

TEST_F(goal_command, refuses) {
    write("bad.goal", "num_ranks 2\nrank 0 {\nsend 5b to 7\n}\n");
    bad("goal read " + path("bad.goal"), "line 3 of GOAL file");
    write("binary.goal", "rank 0 {\n\x7f\n}\n");
    bad("goal read " + path("binary.goal"), "is not a text: line 2 has a byte 0x7f");
    bad("goal read " + path("none.goal"), "none.goal");
    bad("goal write bcast/binomial+early --ranks 4 --bytes 1", "GOAL knows no arrivals");
    bad("goal write bcast/binomial --ranks 4", "no size");
    bad("goal", "subcommand");
    write("good.goal", "num_ranks 1\nrank 0 {\ncalc 5\n}\n");
    bad("goal read " + path("good.goal") + " --hosts 1", "--hosts without --share-links");
    bad("goal read " + path("good.goal") + " --slow rank=1,factor=2", "'1' is not a rank");
}

}  // namespace
}  // namespace rubato
